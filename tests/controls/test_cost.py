"""What determinism costs: the arithmetic, and a program for which it is dear."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from twinrun.controls.cost import AGAIN, PLAIN, TOGETHER, CostOptions, summarise, warm_up
from twinrun.launch.program import Program

PROGRAM = Path(__file__).parent.parent / "programs" / "controls" / "dear.py"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def report(**medians: list[float]):  # type: ignore[no-untyped-def]
    """Step times that are the same throughout each round."""
    names = {
        "plain": PLAIN,
        "again": AGAIN,
        "together": TOGETHER,
        "op": "op-determinism",
        "keras": "keras-seed",
    }
    times = {names[name]: [[seconds] * 9 for seconds in rounds] for name, rounds in medians.items()}
    return summarise(CostOptions(Program("train.py"), rounds=3), times, {}, ())


def test_a_cost_is_the_median_over_rounds_with_half_of_their_range() -> None:
    found = report(plain=[1.0] * 3, again=[1.0] * 3, op=[1.05, 1.06, 1.09])
    (cost,) = found.costs
    assert cost.share == pytest.approx(0.06)
    assert cost.spread == pytest.approx(0.02)
    assert found.sentence(cost) == "op-determinism costs this program 6.0% ± 2.0%"


def test_what_is_within_plain_against_plain_is_said_not_to_be_measurable() -> None:
    found = report(plain=[1.0, 1.0, 1.0], again=[1.1, 1.0, 0.95], keras=[1.03, 1.02, 1.03])
    (cost,) = found.costs
    assert not found.measurable(cost)
    assert found.sentence(cost).startswith("keras-seed: no measurable cost")


def test_a_machine_that_slows_down_between_rounds_does_not_make_a_cost() -> None:
    found = report(plain=[1.0, 2.0, 3.0], again=[1.0, 2.0, 3.0], together=[1.5, 3.0, 4.5])
    (cost,) = found.costs
    assert cost.share == pytest.approx(0.5)
    assert cost.spread == pytest.approx(0.0)
    assert found.sentence(cost).startswith("all controls together cost this program 50.0%")


def test_the_first_steps_are_left_out() -> None:
    assert warm_up(60) == 15
    assert warm_up(8) == 3


def test_a_program_for_which_op_determinism_is_dear_is_told_so(twinrun: Run) -> None:
    words = ("--controls=op-determinism", "--steps=24", "--rounds=1", "--output-format=json")
    done = twinrun("cost", *words, str(PROGRAM))
    result = json.loads(done.stdout)
    rows = {row["name"]: row for row in result["controls"]}
    assert set(rows) == {"op-determinism", "together"}
    assert result["steps"] == 24 - warm_up(24)
    assert rows["op-determinism"]["measurable"], done.stdout
    assert rows["op-determinism"]["share"] > 0.5
    assert rows["op-determinism"]["sentence"].startswith("op-determinism costs this program")
    assert "round 1 of 1: plain again" in done.stderr


def test_an_unknown_control_is_an_error(twinrun: Run) -> None:
    done = twinrun("cost", "--controls=luck", str(PROGRAM))
    assert done.returncode == 2
    assert "no such control: luck" in done.stderr
