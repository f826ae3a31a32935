"""Many checks of TensorFlow programs at the same time, far more than there are cores for."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from soak import TENSORFLOW

from support import Answer, start, write


@pytest.mark.hard
def test_many_at_once(pytestconfig: pytest.Config, tmp_path: Path, figures: Any) -> None:
    count, cases = pytestconfig.getoption("--at-once"), list(TENSORFLOW.values())
    wanted = [cases[number % len(cases)] for number in range(count)]
    began = time.monotonic()
    running = []
    for number, case in enumerate(wanted):
        folder = tmp_path / str(number)
        folder.mkdir()
        running.append(
            start("check", "--no-diagnose", "--output-format", "json", write(folder, case.text), cwd=folder)
        )
    answers = []
    for command in running:
        out, err = command.communicate(timeout=1800)
        answers.append(Answer(command.returncode, out, err))
    verdicts = [answer.document["verdict"] for answer in answers]
    wrong = [
        f"{case.verdict}: {answer.document['verdict']} ({answer.document['reason']})"
        for case, answer in zip(wanted, answers, strict=True)
        if answer.document["verdict"] != case.verdict
    ]
    figures(
        checks=count, wrong_verdicts=len(wrong), repeats=verdicts.count("repeats"), diverges=verdicts.count("diverges"),
        seconds=round(time.monotonic() - began), slowest_check=max(a.document["timing"]["seconds"] for a in answers),
    )  # fmt: skip
    assert not wrong, "\n".join(wrong)
