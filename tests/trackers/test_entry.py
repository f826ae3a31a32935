"""What of a result goes to a tracker."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from twinrun.comparison.frames import Difference
from twinrun.comparison.timeline import Curve, TensorGrowth, Timeline
from twinrun.comparison.verdict import Growth
from twinrun.findings.finding import Finding
from twinrun.publish.entry import Entry
from twinrun.result import CheckResult

RESULT = CheckResult(
    "path/train.py --epochs 2",
    "diverges",
    steps_compared=5,
    first_difference=Difference(3, "weights", "dense/kernel"),
    findings=(Finding("TW101", "unseeded-python-random", "message", "train.py", 3, True),),
    growth=(Growth(3, 4, 0.5), Growth(4, None, float("inf"))),
    timeline=Timeline(
        twins=("A", "B"),
        curves=(Curve("loss", "loss", (3, 4), ((1.0, None), (2.0, 3.0))),),
        tensors=(TensorGrowth("weights", "dense/kernel", (3,), (4,), (0.5,), (0.25,)),),
    ),
)


class Run:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.given: dict[str, object] = {}

    def labels(self, values: Mapping[str, str], step: int = 0) -> None:
        self.given.update(values)

    def numbers(self, by_step: Mapping[int, Mapping[str, float]]) -> None:
        for step, values in by_step.items():
            self.given.update({f"{name}@{step}": value for name, value in values.items()})

    def text(self, name: str, markdown: str) -> None:
        self.given[name] = markdown

    def file(self, name: str, content: str) -> None:
        self.given[name] = content

    def end(self, *, complete: bool) -> str:
        return ""


@pytest.fixture(scope="module")
def given() -> dict[str, object]:
    run = Run()
    Entry.of(RESULT).log(run)
    return run.given


def test_the_title_is_the_program_s_name() -> None:
    assert Entry.of(RESULT).title == "train.py"
    assert Entry.of(RESULT, "mnist").title == "mnist"


def test_labels_are_what_a_run_is_found_by(given: dict[str, object]) -> None:
    labels = {name: value for name, value in given.items() if name.startswith("twinrun.")}
    assert labels == {
        "twinrun.verdict": "diverges",
        "twinrun.program": "path/train.py --epochs 2",
        "twinrun.contract": "bitwise",
        "twinrun.first_difference": "step 3, weights: dense/kernel",
        "twinrun.codes": "TW101",
    }


def test_numbers_are_the_distance_step_by_step(given: dict[str, object]) -> None:
    assert {name: value for name, value in given.items() if "@" in name} == {
        "twinrun/exit_code@0": 1.0,
        "twinrun/steps_compared@0": 5.0,
        "twinrun/findings@0": 1.0,
        "distance/all/max_abs@3": 0.5,
        "distance/all/max_ulp@3": 4.0,  # at step 4 nothing was measured, or nothing finite
        "tensors/weights/dense/kernel/max_abs@3": 0.5,
        "tensors/weights/dense/kernel/max_ulp@3": 4.0,
        "tensors/weights/dense/kernel/differing@3": 0.25,
        "twins/loss/loss/A@3": 1.0,
        "twins/loss/loss/B@3": 2.0,
        "twins/loss/loss/B@4": 3.0,
    }


def test_the_result_and_the_report_go_along(given: dict[str, object]) -> None:
    assert str(given["twinrun/summary"]).startswith("```text\ndiverges at step 3")
    assert json.loads(str(given["twinrun/result.json"]))["verdict"] == "diverges"
    assert str(given["twinrun/report.html"]).startswith("<!doctype html>")
