"""The default folder of recordings: limited in bytes, the oldest make room, and nobody removes what is in use."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support import COMMAND, check, environment, write
from twinrun.errors import CannotWrite, UsageError
from twinrun.launch.folders import Hold, prune, recordings, state_limit
from twinrun.recording.values import values_file

HOUR = 3600.0
SIZE = 100_000


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TWINRUN_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def recording(root: Path, name: str, *, age: float, keep: bool = False) -> Path:
    folder = root / name
    (folder / "A").mkdir(parents=True)
    (folder / "A" / "steps.sqlite").write_bytes(b"x" * SIZE)
    if keep:
        (folder / ".keep").touch()
    os.utime(folder, (time.time() - age, time.time() - age))
    return folder


def names(root: Path) -> set[str]:
    return {entry.name for entry in root.iterdir()}


@contextmanager
def used_elsewhere(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """By another process, which is killed in the end."""
    program = "import sys, pathlib, time\nfrom twinrun.launch.folders import Hold\n"
    program += "held = Hold(pathlib.Path(sys.argv[1]))\nprint(held.taken, flush=True)\ntime.sleep(600)\n"
    process = subprocess.Popen([sys.executable, "-c", program, folder], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "True\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_oldest_are_removed_until_the_rest_is_within_the_limit(root: Path) -> None:
    for number in range(5):
        recording(root, f"check-{number}", age=5 - number)
    (root / "something-else").mkdir()
    removed = prune(root, limit=3 * SIZE)
    assert [each.folder.name for each in removed] == ["check-0", "check-1", "check-2"]
    assert names(root) == {"check-3", "check-4", "something-else"}
    assert prune(root, limit=3 * SIZE) == []


def test_what_is_to_be_kept_stays_and_the_next_one_goes(root: Path) -> None:
    recording(root, "check-0", age=9, keep=True)
    recording(root, "run-1", age=8)
    recording(root, "run-2", age=7)
    assert [each.folder.name for each in prune(root, limit=int(2.5 * SIZE), dry_run=True)] == ["run-1"]
    assert [each.folder.name for each in prune(root, newest=1)] == ["run-1"]
    assert names(root) == {"check-0", "run-2"}
    prune(root, everything=True)
    assert names(root) == set()


def test_a_check_that_runs_for_hours_keeps_its_recording_until_it_has_ended_or_was_killed(root: Path) -> None:
    old = recording(root, "check-0", age=10 * HOUR)
    with used_elsewhere(old) as process:
        for everything in (False, True):
            assert prune(root, limit=0, everything=everything) == []
        process.kill()
        process.wait()
        assert [each.folder for each in prune(root, limit=0)] == [old]


def test_a_folder_is_in_use_as_long_as_it_is_needed_and_what_was_removed_for_it_is_said(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TWINRUN_STATE_LIMIT", "0.15MB")
    recording(root, "check-0", age=HOUR)
    with recordings("check", None) as first:
        assert first.notes == ()
        (first.folder / "A").mkdir()
        (first.folder / "A" / "steps.sqlite").write_bytes(b"x" * SIZE)
        with recordings("run", None, keep=True) as second:
            [note] = second.notes
            assert note.startswith("removed the recording check-0 (") and "below 150 KB" in note
            assert names(root) == {first.folder.name, second.folder.name}
    assert (second.folder / ".keep").exists()
    with recordings("check", None) as third:
        assert names(root) == {second.folder.name, third.folder.name, first.folder.name}
        (third.folder / "much").write_bytes(b"x" * SIZE)
    with recordings("check", None) as fourth:
        assert names(root) == {second.folder.name, third.folder.name, fourth.folder.name}


def test_values_that_only_the_comparison_needed_do_not_stay(root: Path) -> None:
    for kind, stay in (("check", False), ("run", True)):
        with recordings(kind, None) as place:
            for twin in ("A", "A/children/1"):
                file = values_file(place.folder / twin, 3)
                file.parent.mkdir(parents=True)
                file.touch()
                (place.folder / twin / "steps.sqlite").touch()
            mine = place.folder / "files" / "values"  # of a program
            mine.mkdir(parents=True)
        assert {path.exists() for path in place.folder.rglob("A/**/*.safetensors")} == (
            {True} if stay else set()
        )
        assert mine.is_dir()


def test_a_full_disk_is_one_error_with_the_path(root: Path) -> None:
    with pytest.raises(CannotWrite) as found, recordings("check", None) as place:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert found.value.message == f"cannot write {place.folder}: No space left on device"
    with (
        pytest.raises(CannotWrite, match="cannot write /somewhere: Disk quota exceeded"),
        recordings("run", None),
    ):
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT), "/somewhere")
    with pytest.raises(FileNotFoundError), recordings("run", None):
        raise FileNotFoundError(errno.ENOENT, "no such file")


def test_a_limit_that_is_no_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, nbytes in (("5GB", 5 * 10**9), ("1.5 mb", 1_500_000), ("0", 0), ("12", 12)):
        monkeypatch.setenv("TWINRUN_STATE_LIMIT", text)
        assert state_limit() == nbytes
    monkeypatch.setenv("TWINRUN_STATE_LIMIT", "much")
    with pytest.raises(UsageError, match="TWINRUN_STATE_LIMIT"):
        state_limit()


# from end to end


def test_a_check_says_what_it_removed_and_keeps_what_is_in_use(root: Path, tmp_path: Path) -> None:
    program = write(tmp_path, "import twinrun\ntwinrun.probe('x', [1])\n")
    gone, kept = recording(root, "check-0", age=HOUR), recording(root, "check-1", age=HOUR)
    with used_elsewhere(kept):
        document = check(program, "--keep", env={"TWINRUN_STATE_LIMIT": "50KB"}).document
    assert document["verdict"] == "repeats"
    [note] = document["notes"]
    assert "removed the recording check-0" in note and str(root) in note
    assert not gone.exists() and kept.exists()
    [folder] = {Path(each).parent for each in document["recordings"]}
    assert (folder / ".keep").exists()


def test_clean(root: Path) -> None:
    def clean(*words: str) -> list[str]:
        done = subprocess.run(
            [*COMMAND, "clean", *words], env=environment(), capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    assert clean()[-1].startswith("0 recordings (0 bytes) stay in ")
    folders = [recording(root, f"check-{number}", age=9 - number, keep=number == 0) for number in range(4)]
    assert [line.split(" (")[0] for line in clean("--dry-run", "--keep-newest", "1")[:-1]] == [
        f"would remove {folder}" for folder in folders[1:3]
    ]
    assert len(names(root)) == 4
    assert clean("--limit", "0.25MB")[0].startswith(f"removed {folders[1]} (")
    assert names(root) == {"check-0", "check-3"}
    with used_elsewhere(folders[3]):
        assert clean("--all")[-1].startswith("1 recording (")
    assert clean("--all", "--output-format", "json")[1:3] == [
        ' "schema": "twinrun/clean/1",',
        f' "folder": "{root}",',
    ]
    assert names(root) == set()


def test_locks_are_shared_until_one_wants_a_folder_alone(tmp_path: Path) -> None:
    one, other = Hold(tmp_path), Hold(tmp_path)
    assert one.taken and other.taken and not Hold(tmp_path, alone=True, now=True).taken
    one.close()
    other.close()
    assert Hold(tmp_path, alone=True, now=True).taken
