"""The patch: what `patch -p1` and `git apply` make of it is what the fixes say."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from proposing import program

from twinrun.findings.fixes import Place, as_patch, propose, together
from twinrun.findings.fixes.diff import file_diff
from twinrun.findings.fixes.fixers import FIXERS

SOURCE = program(
    """
    import os
    import random

    import tensorflow as tf

    files = os.listdir("data")
    random.shuffle(files)


    def jitter(x):
        return x + tf.random.uniform([])


    ds = tf.data.Dataset.from_tensor_slices(files).shuffle(100)
    ds = ds.map(jitter, num_parallel_calls=4, deterministic=False)
    train(ds)
    """
)
PLACES = [("TW302", 6), ("TW101", 7), ("TW201", 14), ("TW203", 15), ("TW202", 15)]


def fixed(source: str = SOURCE, places: Sequence[tuple[str, int]] = PLACES, file: str = "train.py") -> str:
    """The source after one patch for all these places."""
    found = [Place(code, file, line, source, source) for code, line in places]
    return together(found, {file: source}, program=file).texts.get(file, source)


def patched(folder: Path, name: str, before: str, diff: bytes, *command: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(before.encode())
    done = subprocess.run(command, input=diff, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return path.read_bytes().decode()


PATCH = ("patch", "-p1", "--binary", "--no-backup-if-mismatch")
GIT = ("git", "apply", "-")


@pytest.mark.parametrize("command", [PATCH, GIT], ids=["patch", "git"])
@pytest.mark.parametrize("name", ["train.py", "src/a folder/train.py"])
def test_the_patch_of_all_fixes_gives_the_fixed_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = fixed(file=name)
    patch = as_patch({name: (SOURCE.encode(), expected.encode())})
    assert patched(tmp_path, name, SOURCE, patch, *command) == expected
    assert ast.parse(expected)


def test_all_fixes_together_change_what_each_of_them_changes() -> None:
    assert fixed() == program(
        """
        import os
        import random

        import tensorflow as tf

        SEED = 42
        tf.keras.utils.set_random_seed(SEED)

        files = sorted(os.listdir("data"))
        random.shuffle(files)


        def jitter(x, seed):
            return x + tf.random.stateless_uniform([], seed=(seed, 0))


        ds = tf.data.Dataset.from_tensor_slices(files).shuffle(100)
        seeds = tf.data.Dataset.random(seed=SEED, rerandomize_each_iteration=True)
        ds = tf.data.Dataset.zip((ds, seeds)).map(jitter, num_parallel_calls=4, deterministic=True)
        train(ds)
        """
    )


def test_the_same_fix_twice_is_made_once() -> None:
    assert fixed(places=[*PLACES, *PLACES]) == fixed()


def test_a_parenthesis_that_two_fixes_add_at_one_place_is_added_twice() -> None:
    source = "import os\n\nfor name in set(os.listdir('d')):\n    read(name)\n"
    assert "for name in sorted(set(sorted(os.listdir('d')))):" in fixed(source, [("TW301", 3), ("TW302", 3)])


def test_an_import_that_two_fixes_need_is_added_once() -> None:
    source = "import os\n\na = hash(x)\nb = hash(y)\n"
    assert fixed(source, [("TW301", 3), ("TW301", 4)]) == (
        "import zlib\nimport os\n\na = zlib.crc32(str(x).encode())\nb = zlib.crc32(str(y).encode())\n"
    )


def test_a_call_in_an_f_string_is_fixed() -> None:
    source = "import os\n\nprint(f'{os.listdir(folder)}')\n"
    fix = propose("TW302", "a.py", 3, source)
    assert fix is not None and fix.after == "print(f'{sorted(os.listdir(folder))}')"


def test_nothing_heavy_is_imported_until_a_fix_is_made() -> None:
    program = "import sys, twinrun.findings.fixes; sys.exit('libcst' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_fixes_of_several_files_make_one_patch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sources = {"a.py": "import os\nx = os.listdir('a')\n", "lib/b.py": "import os\ny = os.listdir('b')\n"}
    (tmp_path / "lib").mkdir()
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    places = [Place("TW302", name, 2, text) for name, text in sources.items()]
    texts = together(places, sources).texts
    patch = as_patch({name: (sources[name].encode(), text.encode()) for name, text in texts.items()})
    subprocess.run(PATCH, input=patch, check=True, capture_output=True)
    assert (tmp_path / "a.py").read_text() == "import os\nx = sorted(os.listdir('a'))\n"
    assert (tmp_path / "lib/b.py").read_text() == "import os\ny = sorted(os.listdir('b'))\n"


def test_no_fixes_make_an_empty_patch() -> None:
    assert as_patch({}) == b""


@pytest.mark.parametrize("command", [PATCH, GIT], ids=["patch", "git"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("last", [True, False], ids=["with-last-ending", "without"])
def test_line_endings_and_a_missing_last_one_survive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, last: bool, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = SOURCE.replace("\n", ending)
    source = source if last else source.rstrip("\r\n")
    after = fixed(source)
    expected = fixed().replace("\n", ending)
    assert after == (expected if last else expected.rstrip("\r\n"))
    patch = as_patch({"train.py": (source.encode(), after.encode())})
    assert patched(tmp_path, "train.py", source, patch, *command) == after


def test_columns_behind_characters_of_several_bytes_are_found() -> None:
    source = "import os\nfiles = {'été': os.listdir('д')}  # 名前\n"
    fix = propose("TW302", "train.py", 2, source)
    assert fix is not None
    assert fix.fixed == "import os\nfiles = {'été': sorted(os.listdir('д'))}  # 名前\n"


def test_a_set_behind_characters_of_several_bytes_is_found() -> None:
    source = "été = ['д', *{'а', 'б'}]  # 名前\n"
    fix = propose("TW301", "train.py", 1, source)
    assert fix is not None
    assert fix.fixed == "été = ['д', *sorted({'а', 'б'})]  # 名前\n"


def test_form_feeds_and_unicode_separators_do_not_shift_the_lines() -> None:
    source = 'import os\n\x0c\ntext = """a\u2028b\x1cc"""\nfiles = os.listdir("d")\n'
    fix = propose("TW302", "train.py", 4, source)
    assert fix is not None
    assert fix.fixed == source.replace('os.listdir("d")', 'sorted(os.listdir("d"))')


LINES = st.lists(st.text(alphabet="ab \t#é\u2028\r", max_size=6), max_size=30)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=LINES, after=LINES, ends=st.tuples(st.sampled_from(["", "\n"]), st.sampled_from(["", "\n"])))
def test_any_two_texts_make_a_diff_that_patch_turns_into_the_second(
    tmp_path: Path, before: list[str], after: list[str], ends: tuple[str, str]
) -> None:
    old, new = "\n".join(before) + ends[0], "\n".join(after) + ends[1]
    if not new or not old:  # patch would remove or create the file
        return
    diff = file_diff("train.py", old, new)
    if diff:
        assert patched(tmp_path, "train.py", old, diff.encode(), *PATCH) == new
    else:
        assert old == new


STATEMENTS = st.sampled_from(
    [
        "files = os.listdir('d')  # here",
        "x = [f for f in Path('d').glob('*')]",
        "ds = ds.shuffle(100)",
        "ds = (\n    ds.shuffle(\n        10,  # ten\n    )\n    .batch(2)\n)",
        "rng = np.random.default_rng()",
        "def f(x):\n    return x + np.random.default_rng().normal()",
        "vocab = list({'b', 'a'})",
        "y = np.random.rand(3)",
        "z = random.random()",
        "ds = ds.map(lambda v: v + tf.random.uniform([]), num_parallel_calls=2)",
        "if x:\n    ds = ds.map(lambda a, b: (a * tf.random.normal([]), b), num_parallel_calls=2)",
        "for root, dirs, files in os.walk('d'):\n    print(files)",
        "np.random.seed(1)",
        "keras.utils.set_random_seed(7)",
        "model = keras.Sequential([keras.layers.Dropout(0.5)])",
        "seed = int(time.time())",
        "text = '''\nos.listdir(1)\n'''",
        "# a comment: os.listdir()",
        "print('é', os.listdir('ü'))",
    ]
)
HEAD = program(
    """
    import os
    import random
    import time
    from pathlib import Path

    import keras
    import numpy as np
    import tensorflow as tf

    """
)
CODES = st.sampled_from(sorted(FIXERS))


@settings(max_examples=100)
@given(
    st.lists(STATEMENTS, min_size=1, max_size=8), st.lists(st.tuples(CODES, st.integers(1, 40)), max_size=6)
)
def test_whatever_is_proposed_parses_and_keeps_comments_and_untouched_lines(
    statements: list[str], places: list[tuple[str, int]]
) -> None:
    source = HEAD + "\n".join(statements) + "\n"
    fixes = [fix for code, line in places if (fix := propose(code, "train.py", line, source))]
    for fix in fixes:
        after = fix.fixed
        ast.parse(after)
        assert after != source
        assert after.count("#") == source.count("#")
        touched = {line.strip() for line in fix.before.splitlines()}
        kept = [line for line in source.splitlines() if line.strip() and line.strip() not in touched]
        assert [line for line in kept if line not in after.splitlines()] == []
    ast.parse(fixed(source, places))
