"""A run compared with a baseline: where the bits differ first, and the verdict of each contract."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from baseline_runs import LAYOUT, frames, observed, with_digest, with_value
from hypothesis import given
from hypothesis import strategies as st

from twinrun.baselines import judgement
from twinrun.baselines.baseline import Baseline, as_text, baseline_of, from_text
from twinrun.baselines.kept_run import KeptRun, samples_of
from twinrun.comparison.frames import Difference
from twinrun.recording.frame import PHASES, Frame
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult


def kept(run: KeptRun, contract: str = "bitwise") -> Baseline:
    """As it comes back from a file."""
    return from_text(as_text(baseline_of("b", contract, run, "")), "here")


def judge(baseline: Baseline, run: KeptRun) -> CheckResult:
    return judgement.compare_runs(baseline, run, baseline.contract)


def first(found: CheckResult) -> Difference:
    assert found.first_difference is not None
    return found.first_difference


@pytest.mark.parametrize("contract", ["bitwise", "ulp=0", "rtol=1e-6", "band=accuracy:0.1"])
def test_the_same_run_repeats_under_every_contract(contract: str) -> None:
    found = judge(kept(observed(), contract), observed())
    assert (found.verdict, found.first_difference, found.steps_compared) == (REPEATS, None, 8)


@given(st.integers(0, 7), st.integers(0, len(LAYOUT) - 1))
def test_one_changed_tensor_is_named_with_its_step(at: int, entry: int) -> None:
    changed = frames()
    changed[at] = with_digest(changed[at], entry, 12345)
    found = judge(kept(observed()), observed(changed))
    assert found.verdict == DIVERGES
    assert (first(found).step, first(found).phase, first(found).tensor) == (
        at + 1,
        LAYOUT.phases[entry],
        LAYOUT.names[entry],
    )
    assert found.steps_compared == at


@given(st.lists(st.integers(0, len(LAYOUT) - 1), min_size=2, max_size=4, unique=True))
def test_of_several_changed_tensors_the_first_phase_is_blamed(entries: list[int]) -> None:
    changed = frames()
    for entry in entries:
        changed[3] = with_digest(changed[3], entry, 77)
    found = first(judge(kept(observed()), observed(changed)))
    assert found.phase == min((LAYOUT.phases[entry] for entry in entries), key=PHASES.index)
    assert found.others == len(entries) - 1


def test_in_a_long_run_the_step_is_known_up_to_the_steps_that_are_kept() -> None:
    changed = frames(3000)
    changed[2500] = with_digest(changed[2500], 2, 5)
    baseline = kept(observed(frames(3000)))
    found = judge(baseline, observed(changed))
    assert found.verdict == DIVERGES
    assert first(found).step >= 2501 and first(found).step - first(found).span < 2501
    assert found.steps_compared < 2501


@pytest.mark.parametrize(
    ("then", "now", "longer"), [(8, 6, "the baseline went on"), (6, 8, "this run went on")]
)
def test_another_number_of_steps_diverges(then: int, now: int, longer: str) -> None:
    short, long = sorted((then, now))
    base, run = frames(long)[:then], frames(long)[:now]
    found = judge(kept(observed(base)), observed(run))
    assert found.verdict == DIVERGES
    assert found.reason is not None and longer in found.reason
    assert first(found).step == short + 1


@pytest.mark.parametrize("contract", ["bitwise", "rtol=1e-6"])
def test_a_program_that_takes_more_steps_diverges_by_its_step_count(contract: str) -> None:
    """With the state in which each ended, as real runs have it."""
    longer = [*frames(8)[:-1], frames(8)[-1]]
    shorter = [*frames(8)[:6], frames(8)[-1]]
    shorter[-1] = type(shorter[-1])(6, 0, shorter[-1].layout, shorter[-1].digests)
    found = judge(kept(observed(shorter), contract), observed(longer))
    assert found.verdict == DIVERGES
    assert found.label == "diverges[uneven]"
    assert found.reason == "the baseline ended after step 6, this run went on"
    assert (first(found).step, first(found).tensor) == (7, "step count")


@pytest.mark.parametrize("contract", ["bitwise", "ulp=1"])
def test_runs_of_different_lengths_are_named_by_the_step_that_differs_first(contract: str) -> None:
    changed = frames(2900)
    changed[1000] = with_value(changed[1000], 1, 5.0)
    changed[1500] = with_value(changed[1500], 1, 5.0)
    found = judgement.first_bits(kept(observed(frames(3000)), contract), observed(changed))[0]
    assert found is not None and found.step - found.span < 1001 <= found.step < 1400


def test_a_numeric_contract_reads_the_values_of_steps_whose_tensors_are_not_kept() -> None:
    """Far into a long run a recording has one digest for each phase alone."""
    then, now = frames(60), frames(60)
    now[50] = with_value(now[50], 1, 0.9)
    baseline, run = map(rolled_up, (then, now))
    found = judge(kept(baseline, "ulp=4"), run)
    assert found.verdict == DIVERGES
    assert (first(found).step, first(found).tensor) == (51, "loss")


def rolled_up(made: list[Frame]) -> KeptRun:
    """A run of which only the first 40 steps have digests of single tensors."""
    run = observed(made)
    rest = [msgspec.structs.replace(row, digests=None) for row in run.rows[40:]]
    return replace(run, rows=(*run.rows[:40], *rest))


def test_a_tensor_that_one_side_alone_has_is_named() -> None:
    renamed = frames()
    layout = type(LAYOUT)(LAYOUT.phases, ("x", "loss", "kernel", "renamed", "epoch/accuracy"))
    renamed[2] = type(renamed[2])(3, 1, layout, renamed[2].digests, renamed[2].values)
    found = judge(kept(observed()), observed(renamed))
    assert first(found).only_in in ("the baseline", "this run")
    assert found.reason is not None and "only, at step 3" in found.reason


def _with_last_accuracy(value: float) -> KeptRun:
    changed = frames()
    changed[7] = with_value(changed[7], 4, value)
    return observed(changed)


@pytest.mark.parametrize(
    ("accuracy", "verdict"), [(0.9375, REPEATS), (0.93, REPEATS), (0.90, DIVERGES), (float("nan"), DIVERGES)]
)
def test_a_metric_band_is_judged_by_the_last_value(accuracy: float, verdict: str) -> None:
    found = judge(kept(observed(), "band=accuracy:0.01"), _with_last_accuracy(accuracy))
    assert found.verdict == verdict
    if verdict == DIVERGES:
        assert found.reason is not None and "accuracy ended at 0.9375 and" in found.reason


def test_a_band_on_a_metric_that_was_never_seen_is_undecided() -> None:
    found = judge(kept(observed(), "band=auc:0.1"), _with_last_accuracy(0.5))
    assert found.verdict == UNDECIDED
    assert found.reason is not None and "'auc'" in found.reason and "accuracy" in found.reason


def _ended_with(values: np.ndarray, loss: float | None = None) -> KeptRun:
    changed = frames()
    changed[-1] = with_digest(changed[-1], 0, int(values.view(np.uint32).sum()))
    if loss is not None:
        changed[5] = with_value(changed[5], 1, loss)
    return observed(changed, samples=samples_of({("final", "kernel"): values}))


def test_a_numeric_contract_is_judged_by_losses_and_by_the_values_a_run_ends_with() -> None:
    values = np.linspace(1, 2, 20, dtype=np.float32)
    near = np.nextafter(values, np.float32(9))
    far = values * np.float32(1.001)
    baseline = kept(_ended_with(values), "ulp=1")
    within = judge(baseline, _ended_with(near))
    assert within.verdict == REPEATS
    assert within.first_bit_difference is not None, "the bits differ all the same, and that is reported"
    outside = judge(baseline, _ended_with(far))
    assert outside.verdict == DIVERGES
    assert (first(outside).phase, first(outside).tensor) == ("final", "kernel")
    assert (first(outside).max_ulp or 0) > 1000
    early = judge(baseline, _ended_with(near, loss=0.5))
    assert early.verdict == DIVERGES
    assert (first(early).step, first(early).tensor) == (6, "loss")


def test_a_numeric_contract_without_values_is_undecided() -> None:
    run = frames()
    run[-1] = with_digest(run[-1], 0, 1)
    found = judge(kept(observed(), "rtol=1e-3"), observed(run))
    assert found.verdict == UNDECIDED
    assert found.reason is not None and "keeps no values" in found.reason
