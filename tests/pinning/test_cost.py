"""What determinism costs: the arithmetic, and a program for which it is expensive."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from twinrun.launch.cost import TOGETHER, CannotMeasure, CostOptions, CostReport, Round, summarise, warm_up
from twinrun.launch.program import Program

PROGRAM = Path(__file__).parent.parent / "programs" / "pinning" / "expensive.py"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def report(*rounds: Round) -> CostReport:
    return summarise(CostOptions(Program("train.py"), rounds=len(rounds)), list(rounds), {})


def test_a_cost_is_the_median_over_rounds_with_half_of_their_range() -> None:
    found = report(*(Round([1.0, 1.0], [("op-determinism", seconds)]) for seconds in (1.05, 1.06, 1.09)))
    (cost,) = found.costs
    assert cost.share == pytest.approx(0.06)
    assert cost.spread == pytest.approx(0.02)
    assert found.sentence(cost) == "op-determinism costs this program 6.0% ± 2.0%"


def test_a_cost_below_the_difference_of_plain_runs_is_reported_as_not_measurable() -> None:
    found = report(Round([1.0, 1.1, 1.05], [("keras-seed", 1.12), ("xla", 1.5)]))
    keras, xla = sorted(found.costs, key=lambda cost: cost.name)
    assert not found.measurable(keras)
    assert found.sentence(keras) == "keras-seed: no measurable cost (within 10.0%)"
    assert found.measurable(xla)
    assert found.sentence(xla).endswith("(one round: no spread)")


def test_a_machine_that_slows_down_does_not_make_a_cost() -> None:
    slowing = (Round([level, level * 1.02], [(TOGETHER, level * 1.515)]) for level in (1.0, 2.0, 3.0))
    found = report(*slowing)
    (cost,) = found.costs
    assert cost.share == pytest.approx(0.5)
    assert cost.spread == pytest.approx(0.0)
    assert found.sentence(cost).startswith("all controls together cost this program 50.0%")


def test_what_could_not_be_measured_at_all_is_an_error_and_not_a_zero() -> None:
    options = CostOptions(Program("train.py"))
    with pytest.raises(CannotMeasure, match="the run with together failed"):
        summarise(options, [Round([1.0])], {TOGETHER: "the run with together failed: out of memory"})


def test_the_first_steps_are_left_out() -> None:
    assert warm_up(60) == 15
    assert warm_up(8) == 3


@pytest.mark.slow
def test_a_program_for_which_op_determinism_is_expensive_is_reported_as_such(twinrun: Run) -> None:
    words = ("--controls=op-determinism", "--steps=24", "--rounds=1", "--output-format=json")
    done = twinrun("cost", *words, str(PROGRAM))
    result = json.loads(done.stdout)
    rows = {row["name"]: row for row in result["controls"]}
    assert set(rows) == {"op-determinism", "together"}
    assert result["steps"] == 24 - warm_up(24)
    assert rows["op-determinism"]["measurable"], done.stdout
    assert rows["op-determinism"]["share"] > 0.5
    assert rows["op-determinism"]["sentence"].startswith("op-determinism costs this program")
    assert done.stderr.splitlines().count("round 1 of 1: plain") == 3


def test_an_unknown_control_is_an_error(twinrun: Run) -> None:
    done = twinrun("cost", "--controls=luck", str(PROGRAM))
    assert done.returncode == 2
    assert "unknown control 'luck'" in done.stderr
