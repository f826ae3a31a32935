"""A check leaves the user's files alone: each twin has its own, starts from the same ones, and what a program carries from
one run to the next is found all the same."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from support import check, interrupt, start, twinrun, write

APART = "so the twins were run again, one after the other"
SAME = "import twinrun\ntwinrun.probe('x', [1, 2])\n"


def found(folder: Path, text: str, *options: str, **env: str) -> dict[str, Any]:
    write(folder, text)
    return check("train.py", *options, cwd=folder, env=env).document


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


WRITES = """
import os, twinrun
os.close(os.open("initial.lock", os.O_CREAT | os.O_EXCL))
os.remove("old.txt")
os.makedirs("out/deep")
open("out/deep/weights", "w").write("1 2 3")
twinrun.probe("x", [1, 2])
"""


@pytest.mark.parametrize("how", ["overlay", "copy"])
def test_twins_write_the_same_names_and_the_folder_stays_as_it_was(tmp_path: Path, how: str) -> None:
    work, kept = tmp_path / "work", tmp_path / "kept"
    work.mkdir()
    (work / "old.txt").write_text("old")
    document = found(work, WRITES, "--keep-files", str(kept), TWINRUN_VIEWS=how)
    assert (document["verdict"], document["reason"]) == ("repeats", None)
    assert not any(APART in note for note in document["notes"])
    assert sorted(files(work)) == ["old.txt", "train.py"]
    assert files(kept) == {f"{name}/{path}": text for name in "AB" for path, text in LEFT.items()}
    [recordings] = {Path(folder).parent for folder in document["recordings"]}
    assert sorted(entry.name for entry in recordings.iterdir()) == ["A", "B", "result.json"]


LEFT = {"initial.lock": "", "out/deep/weights": "1 2 3"}


def test_twins_that_share_their_folder_run_one_after_the_other_when_one_fails_and_it_is_said(
    tmp_path: Path,
) -> None:
    text = """
        import os, time, twinrun
        os.close(os.open("lock", os.O_CREAT | os.O_EXCL))
        time.sleep(2.5)
        twinrun.probe("x", [1, 2])
        os.remove("lock")
        """
    document = found(tmp_path, text, TWINRUN_VIEWS="shared")
    assert document["verdict"] == "repeats", document
    assert any(APART in note for note in document["notes"])
    assert any(f"the twins shared {tmp_path}" in note for note in document["notes"])


CARRIED = {
    "a counter": """
        count = int(open("n").read()) if os.path.exists("n") else 0
        open("n", "w").write(str(count + 1))
        """,
    "a file that was there": """
        count = int(open("seed").read())
        open("seed", "w").write(str(count + 1))
        """,
    "a file that is added to": """
        with open("log", "a") as log:
            log.write("x")
        count = len(open("log").read())
        """,
    "files that are looked for": """
        count = len(glob.glob("model-*"))
        open(f"model-{count}", "w").close()
        """,
}


@pytest.mark.parametrize(
    ("what", "how"),
    [*((what, "overlay") for what in CARRIED), ("a counter", "copy"), ("a counter", "shared")],
)
def test_what_a_program_carries_to_its_next_run_is_found(tmp_path: Path, what: str, how: str) -> None:
    (tmp_path / "seed").write_text("7")
    text = f"import glob, os, twinrun\n{textwrap.dedent(CARRIED[what])}\ntwinrun.probe('count', [count])\n"
    document = found(tmp_path, text, TWINRUN_VIEWS=how)
    assert document["verdict"] == "diverges", document
    if how != "shared":  # where it may show at once
        assert any("changed what it reads" in note and APART in note for note in document["notes"])
        assert document["conditions"]["sequential"] and document["conditions"]["carried"]
        assert sorted(files(tmp_path)) == ["seed", "train.py"]


def test_a_program_that_cannot_run_on_what_it_left_repeats_from_the_same_start_and_it_is_said(
    tmp_path: Path,
) -> None:
    text = "import os\nos.path.exists('weights')\nos.mkdir('weights')\n" + SAME
    document = found(tmp_path, text)
    assert document["verdict"] == "repeats", document
    [note] = document["notes"]
    assert "(weights): checked once more, starting from the files that a run leaves behind" in note
    assert "twin B alone ended with exit code 1" in note


def test_looking_for_installed_packages_is_no_reading_of_the_programs_folder(tmp_path: Path) -> None:
    text = 'import importlib.metadata\nimportlib.metadata.version("numpy")\nopen("log", "w").close()\n' + SAME
    assert found(tmp_path, text)["notes"] == []
    (tmp_path / "data").mkdir()
    listing = 'import os\nlen(os.listdir("data"))\nopen("data/log", "w").close()\n' + SAME
    [note] = found(tmp_path, listing)["notes"]
    assert "the program changed what it reads (data)" in note


def test_a_file_that_was_only_written_by_the_program_itself_needs_no_second_look(tmp_path: Path) -> None:
    text = """
        import twinrun
        for epoch in range(3):
            open("best", "w").write(str(epoch))
            twinrun.probe("best", [int(open("best").read())])
        open("best", "w").write("end")
        with open("log", "a") as log:
            log.write("done")
        """
    document = found(tmp_path, text)
    assert (document["verdict"], document["notes"]) == ("repeats", [])


def test_a_program_that_makes_its_output_folder_repeats(tmp_path: Path) -> None:
    text = "import os\nif not os.path.exists('out'):\n    os.makedirs('out')\n" + SAME
    assert found(tmp_path, text)["verdict"] == "repeats"


def test_what_an_overlay_cannot_do_is_done_in_a_copy(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    document = found(tmp_path, "import os\nos.rename('runs', 'runs.old')\n" + SAME)
    assert (document["verdict"], document["reason"]) == ("repeats", None)
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_dir()] == ["runs"]


def test_files_are_kept_only_in_a_new_or_empty_folder(tmp_path: Path) -> None:
    write(tmp_path, SAME)
    answer = twinrun("check", "--keep-files", ".", "train.py", cwd=tmp_path)
    assert answer.code == 2
    assert "is not empty" in answer.message and "--keep-files" in answer.message


@pytest.mark.parametrize("how", ["overlay", "copy"])
def test_a_check_that_is_broken_off_leaves_no_process_and_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    work, home, pids = (tmp_path / name for name in ("work", "home", "pids"))
    for folder in (work, home, pids):
        folder.mkdir()
    monkeypatch.setenv("TWINRUN_HOME", str(home))
    text = f"""
        import os, subprocess, time
        open("written", "w").close()
        child = subprocess.Popen(["sleep", "600"])
        for pid in (os.getpid(), child.pid):
            open({str(pids)!r} + f"/{{pid}}", "w").close()
        time.sleep(600)
        """
    write(work, text)
    process = start("check", "train.py", cwd=work, env={"TWINRUN_VIEWS": how})
    try:
        while len(list(pids.iterdir())) < 4:
            time.sleep(0.05)
            assert process.poll() is None, process.communicate()
        interrupt(process)
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert [entry.name for entry in work.iterdir()] == ["train.py"]
    [recordings] = home.glob("check-*")
    assert not list(recordings.glob("*views*"))
    assert not [pid.name for pid in pids.iterdir() if _alive(Path("/proc", pid.name))]


def _alive(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
