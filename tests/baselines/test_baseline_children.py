"""What a program trains in processes that it starts is part of its baseline, and judged as `check` judges it."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from baseline_runs import frames, observed, with_digest

from support import twinrun, write
from twinrun.baselines import verbs
from twinrun.baselines.baseline import as_text, baseline_of, from_text
from twinrun.baselines.judgement import compare_runs
from twinrun.baselines.kept_run import KeptRun, KeptSteps
from twinrun.baselines.store import open_store
from twinrun.errors import BadBaseline
from twinrun.launch.children import Child, Content
from twinrun.protocol.child import ChildProcess
from twinrun.protocol.messages import Trouble
from twinrun.recording.frame import Frame
from twinrun.recording.manifest import checksum
from twinrun.result import REPEATS, UNDECIDED, CheckResult


def child(made: list[Frame], status: str = "ended", number: int = 1, **about: Any) -> Child[KeptSteps]:
    run = observed(made)
    steps = KeptSteps(**{field.name: getattr(run, field.name) for field in fields(KeptSteps)})
    content = Content(run.frames, run.last_step, run.rows[-1].chain, (run.frames - 1, run.rows[-2].chain))
    return Child(ChildProcess(str(number), "worker.py", 0, **about), steps, status, None, content)


def run_with(*children: Child[KeptSteps]) -> KeptRun:
    """Of a program that trains nothing itself."""
    return observed([], children=children)


def judged(then: KeptRun, now: KeptRun) -> CheckResult:
    """With a baseline as it comes back from a file."""
    kept = from_text(as_text(baseline_of("b", "bitwise", then, "")), "here")
    return compare_runs(kept, now, kept.contract)


CHANGED = frames()
CHANGED[4] = with_digest(CHANGED[4], 2, 7)


def test_children_survive_being_written_and_read() -> None:
    baseline = baseline_of(
        "b", "bitwise", observed(children=(child(frames()), child(CHANGED, "cut off", 2))), ""
    )
    text = as_text(baseline)
    assert from_text(text, "here") == baseline
    assert sum(line.strip().startswith("[4, 5, ") for line in text.splitlines()) == 3  # one line is one step


def test_children_that_are_equal_repeat() -> None:
    found = judged(run_with(child(frames())), run_with(child(frames())))
    assert (found.verdict, found.steps_compared) == (REPEATS, 8)
    assert [each.verdict for each in found.children] == [REPEATS]


def test_a_child_that_differs_is_named() -> None:
    found = judged(run_with(child(frames())), run_with(child(CHANGED)))
    first = found.first_difference
    assert found.label == "diverges" and first is not None
    assert (first.process, first.step, first.tensor) == ("child 1 (worker.py)", 5, "kernel")


def test_a_child_of_one_run_alone() -> None:
    found = judged(observed(), observed(children=(child(frames()),)))
    assert (found.label, found.reason) == ("diverges[uneven]", "child 1 (worker.py) trained in this run only")


WORKERS = [child(frames(), pool=True), child(CHANGED, number=2, pool=True)]
OTHER_WORKERS = [child(frames(seed=3), pool=True), child(frames(seed=4), number=2, pool=True)]
UNKNOWN = [
    ([child(frames(), "lost")], None, "abrupt-exit"),
    ([child(frames(), "failed")], None, "crashed"),
    ([Child(ChildProcess("1", "x", 0, unwatched="-I"), KeptSteps(), "lost")], None, "not-instrumented"),
    ([Child(ChildProcess("1", "x", 0), KeptSteps(), "lost", Trouble("no room"))], None, "not-instrumented"),
    ([child(frames(), "cut off")], [child(frames()[:5], "cut off")], "abrupt-exit"),
    (WORKERS, OTHER_WORKERS, "not-comparable"),
]


@pytest.mark.parametrize(("then", "now", "kind"), UNKNOWN)
def test_a_child_that_cannot_be_judged_leaves_a_baseline_undecided(
    then: list[Child[KeptSteps]], now: list[Child[KeptSteps]] | None, kind: str
) -> None:
    found = judged(run_with(*then), run_with(*(now or then)))
    assert (found.verdict, found.reason_kind) == (UNDECIDED, kind), found.reason


def test_what_can_never_be_judged_is_not_recorded(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    lost = run_with(child(frames(), "lost"))
    assert verbs.record(store, "b", "bitwise", lost).label == "undecided[abrupt-exit]"
    assert verbs.accept(store, "b", "better", lost).label == "undecided[abrupt-exit]"
    assert verbs.listing(store) == []


def test_a_run_whose_child_differs_is_not_already_recorded(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    assert verbs.record(store, "b", "bitwise", run_with(child(frames()))).baseline.action == "recorded"
    assert verbs.record(store, "b", "bitwise", run_with(child(frames()))).baseline.action == "unchanged"
    with pytest.raises(Exception, match="with other bits"):
        verbs.record(store, "b", "bitwise", run_with(child(CHANGED)))


def test_a_baseline_from_before_children_were_kept_is_refused() -> None:
    document = json.loads(as_text(baseline_of("b", "bitwise", observed(), "")))
    document["schema"] = "twinrun/baseline/1"
    del document["children"]
    document["checksum"] = checksum(document)
    with pytest.raises(BadBaseline, match="another version of Twinrun") as refused:
        from_text(json.dumps(document), "here")
    assert refused.value.hint is not None and "accept" in refused.value.hint


PROGRAM = """
import multiprocessing, subprocess, sys, twinrun
def work(value):
    twinrun.probe("found", value)
if __name__ == "__main__":
    if sys.argv[1] == "isolated":
        subprocess.run([sys.executable, "-I", "-c", "if 0:\\n import tensorflow"], check=True)
    child = multiprocessing.get_context("spawn").Process(target=work, args=(sys.argv[1:],))
    child.start()
    child.join()
"""


def baseline(folder: Path, verb: str, *words: str) -> dict[str, Any]:
    return twinrun("baseline", verb, "--name", "b", "--output-format", "json", *words, cwd=folder).document


def test_a_program_that_trains_in_a_child_alone(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM)
    recorded = baseline(tmp_path, "record", "train.py", "one")
    assert recorded["baseline"]["action"] == "recorded"
    same = baseline(tmp_path, "check")
    assert (same["verdict"], len(same["children"])) == ("repeats", 1), same
    other = baseline(tmp_path, "check", "train.py", "two")
    assert (other["verdict"], other["first_difference"]["tensor"]) == ("diverges", "found"), other
    assert other["first_difference"]["process"] == "child 1 (multiprocessing SpawnProcess-1)"
    assert any("the program repeats, its result has changed" in note for note in other["notes"])


def test_a_program_with_a_child_that_cannot_be_watched_is_not_recorded(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM)
    document = baseline(tmp_path, "record", "--runs", "1", "train.py", "isolated")
    assert (document["verdict"], document["reason_kind"]) == ("undecided", "not-instrumented"), document
    assert "-I" in document["reason"] and not list(tmp_path.glob("**/b/*.json"))
