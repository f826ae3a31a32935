"""The patch, byte for byte: odd files, odd names, and where it is applied from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twinrun.errors import CannotWrite
from twinrun.findings.fixes import Place, as_patch, line_in, read_own, together
from twinrun.findings.fixes.diff import patch_root
from twinrun.fix.seed_argument import seed_option
from twinrun.fix.user_files import UserFiles

GIT = ("git", "apply", "-")
PATCH = ("patch", "-p1", "--binary", "--no-backup-if-mismatch")
LINES = st.lists(
    st.sampled_from([b"x = 1", b"\ty = 2", b"# \xc3\xa9", b"# \xe9", b"", b"  ", b"z = '\xff'", b"--- a"]),
    min_size=1,
)
NAMES = st.sampled_from(
    ["train.py", "a folder/train me.py", "d\u00e9j\u00e0/vu.py", "sub/deep/x.py", "-odd.py"]
)


def applied(folder: Path, patch: bytes, command: tuple[str, ...]) -> None:
    done = subprocess.run(command, input=patch, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr + patch


@pytest.mark.parametrize("command", [PATCH, GIT], ids=["patch", "git"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=NAMES,
    before=LINES,
    after=LINES,
    ending=st.sampled_from([b"\n", b"\r\n"]),
    last=st.tuples(st.booleans(), st.booleans()),
)
def test_a_patch_of_any_bytes_applies(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    name: str,
    before: list[bytes],
    after: list[bytes],
    ending: bytes,
    last: tuple[bool, bool],
) -> None:
    monkeypatch.chdir(tmp_path)
    old = ending.join(before) + (ending if last[0] else b"")
    new = ending.join(after) + (ending if last[1] else b"")
    if old == new or not old or not new:
        return
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(old)
    path.chmod(0o755)
    applied(tmp_path, as_patch({str(path): (old, new)}), command)
    assert path.read_bytes() == new
    assert path.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("command", [PATCH, GIT], ids=["patch", "git"])
def test_a_patch_of_files_above_the_folder_applies_at_the_top_of_the_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    (tmp_path / "sub").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    files = {tmp_path / "lib file.py": b"a\n", tmp_path / "sub" / "train.py": b"b\n"}
    for path, data in files.items():
        path.write_bytes(data)
    monkeypatch.chdir(tmp_path / "sub")
    patch = as_patch({str(path): (data, data + b"c\n") for path, data in files.items()})
    assert patch_root(map(str, files)) == tmp_path
    applied(tmp_path, patch, command)
    assert [path.read_bytes() for path in files] == [b"a\nc\n", b"b\nc\n"]


@pytest.mark.parametrize(
    "data",
    [
        "# coding: latin-1\nimport os\n\nx = os.listdir('\u00e9')\n".encode("latin-1"),
        b"\xef\xbb\xbfimport os\r\n\r\nx = os.listdir('\xc3\xa9')",
        b"import os\n\nif True:\n\tx = os.listdir('d')\t# tabs\n",
    ],
    ids=["latin-1", "byte-order-mark", "tabs"],
)
def test_encodings_line_endings_and_tabs_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.py"
    path.write_bytes(data)
    files = UserFiles()
    file = files.file(str(path))
    assert file is not None
    line = next(n for n, text in enumerate(file.text.splitlines(), 1) if "listdir" in text)
    patch = together([Place("TW302", file.path, line, file.text)], files.texts)
    applied(tmp_path, files.patch(patch.texts), GIT)
    start = data.index(b"os.listdir")
    end = data.index(b")") + 1
    assert path.read_bytes() == data[:start] + b"sorted(" + data[start:end] + b")" + data[end:]
    as_seen = files.as_utf8(patch.texts)[file.path].encode()
    compile(as_seen, "train.py", "exec")
    if b"latin-1" in data:
        assert as_seen.startswith(b"# coding: utf-8\n") and "\u00e9".encode() in as_seen


def test_a_file_that_changed_meanwhile_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("x = 1\n")
    files = UserFiles()
    assert files.file(str(path)) is not None
    path.write_text("x = 2\n")
    with pytest.raises(CannotWrite, match="changed while"):
        files.write({str(path.resolve()): "x = 3\n"}, force=True)
    assert path.read_text() == "x = 2\n"


def test_installed_files_and_those_of_python_are_not_the_users_own() -> None:
    import ast

    import numpy

    assert read_own(ast.__file__) is None
    assert read_own(numpy.__file__) is None
    assert read_own(__file__) is not None


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=8), st.data())
def test_a_line_that_stays_is_found_again(lines: list[str], data: st.DataObject) -> None:
    before = "".join(f"{name}{number}\n" for number, name in enumerate(lines))
    kept = data.draw(st.integers(1, len(lines)))
    new = data.draw(st.lists(st.sampled_from("xyz"), max_size=3))
    at = data.draw(st.integers(0, len(lines)))
    parts = before.splitlines(keepends=True)
    after = "".join([*parts[:at], *(f"{each}\n" for each in new), *parts[at:]])
    found = line_in(after, kept, before)
    assert after.splitlines()[found - 1] == before.splitlines()[kept - 1]


@pytest.mark.parametrize(
    ("source", "arguments", "option"),
    [
        ("p.add_argument('--seed', type=int)", (), "--seed"),
        ("p.add_argument('-s', '--random-seed', default=None)", (), "--random-seed"),
        ("p.add_argument('--seed', type=int, default=0)", (), None),
        ("p.add_argument('--seed', default=-1)", (), "--seed"),
        ("p.add_argument('--seed', default=random.randint(0, 9))", (), "--seed"),
        ("p.add_argument('--seed', type=int)", ("--seed=3",), None),
        ("p.add_argument('--speed', type=int)", (), None),
        ("@click.option('--seed', type=int)\ndef main(seed): pass", (), "--seed"),
        ("flags.DEFINE_integer('seed', None, 'the seed')", (), "--seed"),
        ("flags.DEFINE_integer('seed', 1, 'the seed')", (), None),
        ("import fire\ndef main(seed=None): pass\nfire.Fire(main)", (), "--seed"),
        ("import fire\ndef main(seed=1): pass\nfire.Fire(main)", (), None),
        ("x = (", (), None),
    ],
)
def test_the_option_for_the_seed_is_found(
    source: str, arguments: tuple[str, ...], option: str | None
) -> None:
    assert seed_option(source, arguments) == option
