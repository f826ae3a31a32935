"""The lock and pip's requirements, what no longer matches a lock, and an environment rebuilt from one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from twinrun.cli.env import env
from twinrun.environment.capture import capture
from twinrun.environment.difference import BITS, METRICS
from twinrun.environment.environment import Environment, EnvironmentKey
from twinrun.environment.lock import Lock, Package, lock_of, read_lock, requirements, write_lock
from twinrun.environment.lock_check import mismatches
from twinrun.environment.lock_hashes import with_hashes
from twinrun.errors import BadRecording, CannotWrite, UsageError

FRAMEWORK = {
    "name": "tensorflow",
    "intra_op_threads": 2,
    "inter_op_threads": 4,
    "onednn": True,
    "op_determinism": True,
}


@pytest.fixture(scope="module")
def here() -> Environment:
    return capture()


@pytest.fixture(scope="module")
def locked(here: Environment) -> Lock:
    return lock_of(with_framework(here))


def with_framework(here: Environment, hash_seed: str = "7") -> Environment:
    python = {**here.facts["python"], "hash_seed": hash_seed}
    return Environment({**here.facts, "python": python, "framework": FRAMEWORK}, here.key)


def test_the_lock_fixes_threads_and_flags_as_they_were_read_back(locked: Lock) -> None:
    assert locked.variables["TF_NUM_INTRAOP_THREADS"] == "2"
    assert locked.variables["TF_NUM_INTEROP_THREADS"] == "4"
    assert locked.variables["TF_ENABLE_ONEDNN_OPTS"] == "1"
    assert locked.variables["TF_DETERMINISTIC_OPS"] == "1"
    assert locked.variables["PYTHONHASHSEED"] == "7"


def test_a_hash_seed_that_nobody_set_is_not_in_the_lock(here: Environment) -> None:
    environment = with_framework(here, hash_seed="random")
    lock = lock_of(environment)
    assert "PYTHONHASHSEED" not in lock.variables
    assert any("the hash seed was random" in note for note in lock.notes)
    assert mismatches(lock, environment, lock.variables) == []


def test_a_lock_survives_being_written_and_read(locked: Lock, tmp_path: Path) -> None:
    write_lock(locked, "lock", tmp_path / "twinrun.lock")
    assert read_lock(tmp_path / "twinrun.lock") == locked


def test_the_requirements_have_the_lock_s_versions_and_variables(locked: Lock) -> None:
    text = requirements(locked)
    numpy = next(package for package in locked.packages if package.name == "numpy")
    assert f"\nnumpy=={numpy.version}" in text
    assert "# set TF_NUM_INTRAOP_THREADS=2\n" in text
    for each in (text, locked.text()):
        assert "://" not in each, "an address of an index or a repository"


def test_a_package_that_no_index_has_is_named_and_not_pinned(locked: Lock) -> None:
    lock = replace(locked, packages=(Package("mine", "1.0", origin="editable"), Package("numpy", "2.0")))
    text = requirements(lock)
    assert "# mine==1.0: editable" in text
    assert "\nmine==" not in text


def test_hashes_are_in_the_requirements_and_their_absence_is_reported(locked: Lock) -> None:
    assert "hashes: not requested" in requirements(locked)
    hashed = replace(locked, packages=(Package("numpy", "2.0", ("sha256:ab",)),))
    assert "numpy==2.0 \\\n    --hash=sha256:ab\n" in requirements(hashed)


def test_hashes_that_pip_cannot_provide_are_reported_as_unavailable(
    locked: Lock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    unavailable = with_hashes(replace(locked, packages=(Package("numpy", "0.0.0.1"),)))
    assert unavailable.hashes.startswith("unavailable")
    assert not unavailable.complete


def test_what_no_longer_matches_is_reported(locked: Lock, here: Environment) -> None:
    now = with_framework(here)
    assert mismatches(locked, now, locked.variables) == []
    older = replace(
        locked,
        python="3.1.0",
        packages=(Package("numpy", "0.1"), Package("gone", "1.0"), *locked.packages[:1]),
        key=EnvironmentKey({**here.key, "libc": "glibc 2.2"}),
    )
    found = mismatches(older, now, {})
    sentences = [each.sentence for each in found]
    assert found[0].group == BITS and "glibc 2.2" in sentences[0]
    assert any(sentence.startswith("numpy is ") and "the lock has 0.1" in sentence for sentence in sentences)
    assert "gone is not installed, the lock has 1.0" in sentences
    assert any(each.group == METRICS and "Python is" in each.sentence for each in found)
    assert any("PYTHONHASHSEED is not set" in sentence for sentence in sentences)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema": "twinrun/lock/2"}', '{"schema": "twinrun/lock/1"}', "\x00\x01"]
)
def test_a_file_that_is_no_lock_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "twinrun.lock"
    path.write_text(text)
    with pytest.raises(BadRecording, match=r"twinrun\.lock"):
        read_lock(path)


@given(st.text(min_size=1, max_size=30))
def test_nothing_in_a_lock_can_start_a_line_of_its_own(text: str) -> None:
    """A lock is a file: whatever someone wrote into it must not become a line that pip obeys, which ends lines as
    str.splitlines does."""
    lock = Lock(
        EnvironmentKey({"framework": text}),
        "3.11.7",
        {"libc": text},
        (Package("numpy", "1.0", origin=text), Package(text, text, origin=text)),
        {"TF_XLA_FLAGS": text},
        hashes=text,
        notes=(text,),
    )
    assert all(line == "" or line.startswith("# ") for line in requirements(lock).splitlines())


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\0"])
def test_no_end_of_a_line_is_forgotten(locked: Lock, end: str) -> None:
    text = requirements(replace(locked, notes=(f"a note{end}evil==1.0",)))
    assert not [line for line in text.splitlines() if line.startswith("evil")]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LD_PRELOAD", "/tmp/evil.so"), ("PATH", "."), ("OMP_NUM_THREADS", "2\nLD_PRELOAD=/tmp/evil.so"),
        ("OMP_NUM_THREADS", "2\u2028"), ("A B", "1"), ("", "1"),
    ],
)  # fmt: skip
def test_a_lock_sets_no_variable_but_those_that_are_read(
    locked: Lock, tmp_path: Path, name: str, value: str
) -> None:
    path = tmp_path / "twinrun.lock"
    write_lock(replace(locked, variables={name: value}), "lock", path)
    with pytest.raises(UsageError, match="which Twinrun never writes"):
        read_lock(path)


def test_the_value_of_a_variable_is_quoted_as_a_shell_takes_it(locked: Lock) -> None:
    text = requirements(replace(locked, variables={"XLA_FLAGS": "--a='b' $(rm x); y"}))
    assert "# set XLA_FLAGS='--a='\"'\"'b'\"'\"' $(rm x); y'\n" in text


def test_a_variable_of_several_lines_is_left_out_and_noted(here: Environment) -> None:
    facts = {**here.facts, "variables": {"XLA_FLAGS": "--a\nEVIL=1"}}
    lock = lock_of(Environment(facts, here.key))
    assert "XLA_FLAGS" not in lock.variables
    assert "XLA_FLAGS is left out: it has more than one line" in lock.notes


def test_origins_that_somebody_has_damaged_are_none(here: Environment) -> None:
    for damaged in (None, 3, ["numpy"]):
        facts = {**here.facts, "packages": {**here.facts["packages"], "origins": damaged}}
        assert all(package.origin is None for package in lock_of(replace(here, facts=facts)).packages)


def test_only_wheels_are_asked_for_where_somebody_else_has_named_the_packages(
    locked: Lock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An archive of source would be run."""
    source = tmp_path / "evil-1.0"
    source.mkdir()
    (source / "setup.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w'); from setuptools import setup; setup()"
    )
    with tarfile.open(tmp_path / "evil-1.0.tar.gz", "w:gz") as archive:
        archive.add(source, "evil-1.0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")
    asked = with_hashes(replace(locked, packages=(Package("evil", "1.0"),)), ours=False)
    assert asked.hashes.startswith("unavailable") and not (tmp_path / "ran").exists()


@pytest.mark.parametrize("evil", ["numpy\nRUN rm", "-r /etc/passwd", "a b", "", "--index-url"])
def test_a_name_that_is_no_name_is_refused(locked: Lock, evil: str) -> None:
    with pytest.raises(UsageError):
        requirements(replace(locked, packages=(Package(evil, "1.0"),)))
    with pytest.raises(UsageError):
        requirements(replace(locked, packages=(Package("numpy", "1.0", (f"sha256:ab {evil}",)),)))


def test_a_folder_that_cannot_be_written_is_named(locked: Lock, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="file"):
        write_lock(locked, "lock", tmp_path / "file" / "twinrun.lock")


def test_the_commands_show_lock_check_and_compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    shown = run(env, ["show", "--no-framework"])
    assert shown.exit_code == 0 and "key (what may change bits):" in shown.stdout
    document = json.loads(run(env, ["show", "--no-framework", "--output-format", "json"]).stdout)
    assert document["schema"] == "twinrun/env/1"
    other = json.loads(json.dumps(document))
    other["environment"]["key"]["intra_op_threads"] = 64
    Path("a.json").write_text(json.dumps(document))
    Path("b.json").write_text(json.dumps(other))
    assert run(env, ["diff", "a.json", "a.json"]).exit_code == 0
    differing = run(env, ["diff", "a.json", "b.json"])
    assert differing.exit_code == 1
    assert "TW505 the intra-op thread count differs" in differing.stdout
    assert (
        json.loads(run(env, ["diff", "a.json", "b.json", "--output-format", "json"]).stdout)[
            "comparable_bitwise"
        ]
        is False
    )
    written = run(env, ["lock", "--no-framework"])
    assert (written.exit_code, written.stdout) == (0, "") and "wrote twinrun.lock\n" in written.stderr
    assert "--output " not in run(env, ["lock", "--help"]).stdout
    assert run(env, ["check", "--no-framework"]).exit_code == 0
    locked = json.loads(Path("twinrun.lock").read_text())
    locked["packages"][0]["version"] = "0.0"
    Path("twinrun.lock").write_text(json.dumps(locked))
    checked = run(env, ["check", "--no-framework", "--output-format", "json"])
    assert checked.exit_code == 1
    assert json.loads(checked.stdout)["matches"] is False
    from_lock = run(env, ["lock", "--from", "twinrun.lock", "--format", "requirements", "--output", "-"])
    assert f"{locked['packages'][0]['name']}==0.0" in from_lock.stdout
    assert isinstance(run(env, ["diff", "nothing.json", "a.json"]).exception, BadRecording)


@pytest.mark.parametrize("seed", [None, "random", "0", "5"])
def test_a_machine_matches_its_own_lock_whatever_the_hash_seed(tmp_path: Path, seed: str | None) -> None:
    """In new processes, since only the start of an interpreter sets its hash seed."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    variables |= {} if seed is None else {"PYTHONHASHSEED": seed}
    for verb in ("lock", "check"):
        command = [sys.executable, "-m", "twinrun", "env", verb, "--no-framework"]
        done = subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "this machine matches the lock" in done.stdout
    fixed = {**variables, "PYTHONHASHSEED": "77"}
    moved = subprocess.run(command, cwd=tmp_path, env=fixed, capture_output=True, text=True, check=False)
    assert moved.returncode == (1 if seed in ("0", "5") else 0), "a seed that was set is part of the lock"


@pytest.mark.parametrize("form", ["lock", "requirements"])
@pytest.mark.parametrize("way", ["same name", "other spelling", "link"])
def test_the_file_given_with_from_is_never_overwritten(
    locked: Lock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, way: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_lock(locked, "lock", Path("mine.lock"))
    Path("linked.lock").symlink_to("mine.lock")
    target = {"same name": "mine.lock", "other spelling": "../" + tmp_path.name + "/mine.lock"}
    words = ["lock", "--from", "mine.lock", "--format", form, "-o", target.get(way, "linked.lock")]
    refused = CliRunner().invoke(env, words)
    assert isinstance(refused.exception, UsageError)
    assert read_lock(Path("mine.lock")) == locked


def test_rendering_the_default_lock_again_leaves_it_as_it_is(
    locked: Lock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_lock(locked, "lock", Path("twinrun.lock"))
    rendered = CliRunner().invoke(env, ["lock", "--from", "twinrun.lock", "--format", "requirements"])
    assert rendered.exit_code == 0
    assert rendered.stdout == ""
    assert rendered.stderr.splitlines()[0] == "wrote twinrun.lock.requirements.txt"
    assert read_lock(Path("twinrun.lock")) == locked


def test_the_manifest_of_a_recording_given_with_from_is_never_overwritten(
    here: Environment, tmp_path: Path
) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"environment": here.as_json()}))
    before = manifest.read_text()
    refused = CliRunner().invoke(env, ["lock", "--from", str(tmp_path), "-o", str(manifest)])
    assert isinstance(refused.exception, UsageError)
    assert manifest.read_text() == before


KEY_SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
{imports}
from twinrun.environment.capture import capture
print(json.dumps(capture().as_json()["key"]))
"""


def rebuilt_key_equals_this_one(folder: Path, wanted: set[str] | None, imports: str) -> None:
    """Locks, builds a virtual environment from the lock and nothing else, and compares keys."""
    source = str(Path(__file__).resolve().parents[2] / "src")
    script = KEY_SCRIPT.format(imports=imports)
    variables = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    first = subprocess.run(
        [sys.executable, "-c", script, source],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    lock = lock_of(capture())
    if wanted is not None:
        lock = replace(lock, packages=tuple(package for package in lock.packages if package.name in wanted))
    write_lock(lock, "requirements", folder / "requirements.txt")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = str(folder / "venv" / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "-r"]
    done = subprocess.run(
        [*install, str(folder / "requirements.txt")], capture_output=True, text=True, check=False
    )
    unreachable = ("Failed to establish a new connection", "Temporary failure in name resolution")
    if done.returncode != 0 and any(words in done.stderr for words in unreachable):
        pytest.skip("no package index can be reached from here")
    assert done.returncode == 0, done.stderr
    second = subprocess.run(
        [python, "-c", script, source], env=variables, capture_output=True, text=True, check=True, cwd=folder
    )
    assert json.loads(second.stdout) == json.loads(first.stdout)


@pytest.mark.slow
def test_an_environment_rebuilt_from_the_lock_has_the_same_key(tmp_path: Path) -> None:
    core = {"numpy", "xxhash", "archspec", "click", "msgspec"}
    rebuilt_key_equals_this_one(tmp_path, core, "import numpy")


@pytest.mark.slow
@pytest.mark.skipif(
    "TWINRUN_TEST_REBUILD" not in os.environ, reason="installs TensorFlow: set TWINRUN_TEST_REBUILD=1"
)
def test_an_environment_with_tensorflow_rebuilt_from_the_lock_has_the_same_key(tmp_path: Path) -> None:
    rebuilt_key_equals_this_one(tmp_path, None, "import tensorflow as tf, keras; tf.ones([2]) + 1")
