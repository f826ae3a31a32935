"""A framework that lives outside the package, as docs/how-to/add-a-framework.md describes it: checked, pinned and
diagnosed with nothing in Twinrun that knows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pages import blocks
from support import Answer, check, twinrun, write

pytestmark = pytest.mark.usefixtures("tinynet")

PROGRAM = blocks("add-a-framework.md")["train.py"]


def test_its_steps_are_compared(tmp_path: Path) -> None:
    program = write(tmp_path, PROGRAM.replace("import tinynet", "import tinynet; tinynet.seed(1)"))
    found = check(program).document
    assert found["verdict"] == "repeats" and found["steps_compared"] == 5, found


def test_a_difference_is_found_where_it_arises(tmp_path: Path) -> None:
    found = check(write(tmp_path, PROGRAM)).document
    assert found["verdict"] == "diverges"
    assert (found["first_difference"]["step"], found["first_difference"]["phase"]) == (0, "init")


def test_a_step_that_differs_is_named_with_its_batch(tmp_path: Path) -> None:
    late = PROGRAM.replace("import tinynet", "import os, tinynet; tinynet.seed(1)").replace(
        "train_step(x,", "train_step(x + (step == 2) * os.getpid() * 1e-3,"
    )
    found = check(write(tmp_path, late)).document
    assert (found["first_difference"]["step"], found["first_difference"]["phase"]) == (3, "batch")


def test_it_is_pinned(tmp_path: Path) -> None:
    found = check(write(tmp_path, PROGRAM), "--pin").document
    assert found["verdict"] == "repeats", found


def test_the_cause_is_named_and_confirmed(tmp_path: Path) -> None:
    finding = _findings(twinrun("check", "--output-format", "json", write(tmp_path, PROGRAM)))[0]
    assert (finding["code"], finding["line"], finding["confirmed"]) == ("TN101", 6, True)
    assert finding["file"].endswith("train.py")
    assert "with tinynet.noise" in finding["evidence"][-1]


def _findings(answer: Answer) -> list[dict[str, Any]]:
    assert answer.document["verdict"] == "diverges", answer.document
    return list(answer.document["findings"])
