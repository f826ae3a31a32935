"""One run on a node: the program's folders arrive, nothing stays, and the recording is like any other."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from nodes import gathered, left_in_tmp, made

from support import PLAIN, write
from twinrun.launch.program import Program
from twinrun.recording.folder import open_recording

pytestmark = pytest.mark.usefixtures("tinynet")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that checks are made from. Temporary files of the node have one to themselves."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def test_a_run_is_recorded_and_brought_back(elsewhere: Path, tmp_path: Path) -> None:
    (elsewhere / "scale.txt").write_text("2")
    program = write(
        elsewhere, PLAIN + "print(open('scale.txt').read(), __file__)\nopen('left.txt', 'w')\ntrain(3)"
    )
    runs = [made(Program("train.py")) for _ in range(2)]
    for name, run in zip("AB", runs, strict=True):
        assert (run.result.reason, run.result.steps) == (None, 3), run.result
        brought = gathered(tmp_path, name, run)
        manifest, reader = open_recording(brought.recording)
        assert (manifest.program, manifest.status, reader.last_step()) == ("train.py", "ended", 3)
    printed = [(tmp_path / name / "stdout.txt").read_text() for name in "AB"]
    assert printed[0] == printed[1] and printed[0].startswith("2 "), printed  # the same path, for every run
    assert not (elsewhere / "left.txt").exists() and program.exists()
    assert left_in_tmp() == []


def test_a_program_beside_the_working_folder_is_sent_too(elsewhere: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (elsewhere / "scale.txt").write_text("2")
    write(other, PLAIN + "open('scale.txt')\nimport helper\ntrain(helper.steps)")
    write(other, "steps = 2", "helper.py")
    run = made(Program(str(other / "train.py")))
    assert (run.result.reason, run.result.steps) == (None, 2), run.result


def test_what_a_node_says_names_the_files_of_here(elsewhere: Path) -> None:
    write(elsewhere, PLAIN + "train(1)\nraise SystemExit(__file__)")
    result = made(Program(str(elsewhere / "train.py"))).result
    assert (result.exit_code, result.reason_kind) == (1, "crashed")
    assert result.output_tail == str(elsewhere / "train.py")
    assert left_in_tmp() == []
