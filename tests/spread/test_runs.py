"""What is read from a run, and what is noticed beside the numbers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from twinrun.launch.children import Child, Content
from twinrun.launch.program import Program
from twinrun.protocol.child import ChildProcess
from twinrun.recording.frame import Frame, Layout
from twinrun.spread import numbers, runs
from twinrun.spread.plan import ALL, IMPLEMENTATION, REPEAT, RunKey, SpreadOptions
from twinrun.spread.remarks import not_repeated
from twinrun.spread.report import Run


def frame(step: int, phases: str, names: str, *values: float) -> Frame:
    layout = Layout(tuple(phases.split()), tuple(names.split()))
    return Frame(step, 1, layout, b"", tuple(enumerate(values)))


def test_the_last_value_counts_and_that_of_an_epoch_before_that_of_a_batch() -> None:
    frames = [
        frame(1, "loss probe", "loss score", 3.0, 0.1),
        frame(2, "loss metric", "loss epoch/loss", 1.0, 2.0),
        frame(2, "weights", "scale", 7.0),
    ]
    assert numbers.metrics_of(frames) == {"loss": 2.0, "score": 0.1}


@pytest.mark.parametrize(("reporting", "measured"), [(["a", ""], {"loss": 1.0}), (["a", "b"], {}), ([], {})])
def test_a_process_that_the_program_starts_is_measured_where_no_other_reports(
    monkeypatch: pytest.MonkeyPatch, reporting: list[str], measured: dict[str, float]
) -> None:
    children = [
        Child(ChildProcess(label, label, 1), Path(label), "ended", content=Content(1)) for label in reporting
    ]
    monkeypatch.setattr(numbers, "children_of", lambda _: children)
    monkeypatch.setattr(numbers, "_read", lambda path: {"loss": 1.0} if path.name in ("a", "b") else {})
    found = numbers.numbers_of(Path("run"))
    assert (found.metrics, found.children) == (measured, tuple(label for label in reporting if label))
    assert numbers.numbers_of(Path("a")).children == ()  # the program has numbers of its own


def collected(*made: Run) -> runs.Collected:
    return runs.Collected({RunKey(run.source, run.number): run for run in made})


def run(source: str, number: int, loss: float) -> Run:
    return Run(source, number, 42, {"loss": loss})


def test_a_pinned_program_that_does_not_repeat_is_reported() -> None:
    (note,) = not_repeated(run(ALL, 0, 1.0), run(REPEAT, 0, 1.5))
    assert "does not repeat though it is pinned (loss was 1.0 and 1.5 with the same seed)" in note
    assert not list(not_repeated(run(ALL, 0, math.nan), run(REPEAT, 0, math.nan)))


def test_a_source_is_given_up_after_three_equal_runs_unless_it_may_race() -> None:
    options = SpreadOptions(Program("train.py"), 9, ("weights", "data", IMPLEMENTATION))
    found = collected(
        *(run("weights", number, 1.0) for number in range(3)),
        *(run("data", number, float(number)) for number in range(3)),
        *(run(IMPLEMENTATION, number, 1.0) for number in range(3)),
    )
    assert runs._unused(options, found) == {"weights": 3}


@pytest.mark.parametrize(("cores", "jobs"), [(0.1, 4), (1.0, 4), (2.0, 2), (3.9, 1), (8.0, 1)])
def test_as_many_runs_go_side_by_side_as_there_are_processors_for(
    monkeypatch: pytest.MonkeyPatch, cores: float, jobs: int
) -> None:
    monkeypatch.setattr(runs.os, "sched_getaffinity", lambda _: set(range(4)))
    monkeypatch.setattr(runs.psutil, "virtual_memory", lambda: type("Memory", (), {"available": 1 << 50}))
    assert runs._jobs(cores, "cpu") == jobs


def test_a_gpu_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "read_gpu", lambda: {"count": 1})
    assert runs._jobs(0.5, None) == 1
