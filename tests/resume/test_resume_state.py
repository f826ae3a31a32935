"""`twinrun.ResumeState` in one process: stopped at every step of forty, and what it refuses."""

from __future__ import annotations

from pathlib import Path

from support import python

DRIVER = Path(__file__).with_name("every_step.py")


def test_resumed_equals_uninterrupted_at_every_step_of_forty(tmp_path: Path) -> None:
    answer = python(DRIVER, cwd=tmp_path, TF_CPP_MIN_LOG_LEVEL="3")
    assert answer.code == 0, answer.out + answer.err
    assert answer.out.splitlines()[-1] == "ok: 40 steps, 4 damaged or foreign files"
