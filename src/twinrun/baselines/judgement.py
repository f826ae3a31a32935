"""Compares a run with a kept one under a contract, with the judge that compares twins: at which step and tensor do
they differ first?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from twinrun.baselines.kept_run import KeptRun, KeptSteps, Row
from twinrun.comparison.contract import BITWISE, Contract, parse_contract
from twinrun.comparison.frames import STEP_COUNT, Difference, differences, unlike
from twinrun.comparison.judge import Judge, not_comparable
from twinrun.comparison.timeline import Timeline
from twinrun.comparison.tracking import Mark, Tracker
from twinrun.launch.family import Comparison
from twinrun.recording.digest import digest_array
from twinrun.recording.frame import Frame, Layout, pack
from twinrun.recording.outline import Key, Outline, Part
from twinrun.recording.pieces import outline_of, values_of
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult, Reason

NAMES = ("the baseline", "this run")


def compare_runs(then: KeptRun, now: KeptRun, contract: str) -> CheckResult:
    """Compare two runs and the processes that each of them started, as `check` does for twins."""

    def compare(one: KeptSteps, other: KeptSteps) -> CheckResult:
        return compare_steps(one, other, contract)

    children = (list(then.children), list(now.children))
    family = Comparison(children, compare, then.stopped or now.stopped, NAMES, title="{}").run()
    return family.judge(compare(then, now))


def compare_steps(then: KeptSteps, now: KeptSteps, contract: str) -> CheckResult:
    """Compare the steps of one process. `first_bit_difference` is there whatever the contract; `first_difference` is what breaks it."""
    bits, steps, unknown = first_bits(then, now)
    if bits is None and unknown is None:
        return _found(REPEATS, steps_compared=steps, timeline=_timeline(then, now))
    terms = parse_contract(contract)
    if terms.bitwise:
        found = _broken(bits) if bits is not None else _found(UNDECIDED, unknown)
    else:
        found = _bands(terms, then, now) if terms.bands else _numeric(terms, then, now)
        steps = min(then.last_step, now.last_step)
    timeline = _timeline(then, now, found.first_difference)
    return found.replace(first_bit_difference=bits, steps_compared=steps, timeline=timeline)


def _timeline(then: KeptSteps, now: KeptSteps, broken: Difference | None = None) -> Timeline | None:
    """The timeline of the steps that both keep. Equal chains are equal histories; behind the first difference a step is compared only
    where digests of its tensors are kept."""
    tracker = Tracker(NAMES)
    for a, b in _pairs(then, now):
        frames = [then.frame(a), now.frame(b)]
        if a.chain == b.chain:
            tracker.add(frames)
        elif all(frame.digests for frame in frames) and not unlike(*frames):
            within = broken is None or a.step < broken.step
            found = differences(frames[0], frames[1], NAMES)
            tracker.add(frames, {each.key: Mark(within) for each in found if each.judged})
        else:
            tracker.add_values(frames)
    return tracker.timeline()


_found = partial(CheckResult.of, "")


def _broken(found: Difference) -> CheckResult:
    return _found(DIVERGES, _reason(found), first_difference=found)


def first_bits(then: KeptSteps, now: KeptSteps) -> tuple[Difference | None, int, Reason | None]:
    """The first difference in bits, the step up to which there is none, and why it is not known whether there is one.
    Equal chains are equal histories."""
    pairs = list(_pairs(then, now))
    equal = 0
    for number, (a, b) in enumerate(pairs):
        if a.chain != b.chain:
            found = _located(then, now, pairs[number:], equal)
            return (None, equal, found) if isinstance(found, Reason) else (found, equal, None)
        equal = a.step
    return _uneven(then, now), equal, None


def _pairs(then: KeptSteps, now: KeptSteps) -> Iterator[tuple[Row, Row]]:
    """The rows that both keep."""
    others = {row.seq: row for row in now.rows}
    return ((row, others[row.seq]) for row in then.rows if row.seq in others)


def _located(
    then: KeptSteps, now: KeptSteps, pairs: list[tuple[Row, Row]], equal: int
) -> Difference | Reason:
    """The tensor that differs at the first of these rows, or at the next one whose tensors are kept. A reason where they
    may differ or not."""
    step = pairs[0][0].step
    span = max(1, step - equal)
    judge = _KeptJudge(BITWISE)
    for a, b in pairs:
        frames = [then.frame(a), now.frame(b)]
        if not all(frame.digests for frame in frames):
            if doubtful := unlike(*frames):
                return not_comparable(doubtful[0])
            continue
        found = judge.look(frames, [_scalars(frame) for frame in frames])
        if judge.unmeasured is not None:
            return judge.unmeasured
        if found is not None and a is pairs[0][0]:
            return msgspec.structs.replace(found, span=max(span, found.span))
        if found is not None:
            tensor = f"{found.tensor} (seen at step {a.step}: not every step is kept)"
            return Difference(step, found.phase, tensor, span)
    return Difference(step, "weights", "(in a step whose tensors are not kept)", span)


def _uneven(then: KeptSteps, now: KeptSteps) -> Difference | None:
    if then.frames == now.frames:
        return None
    longer = NAMES[0] if then.frames > now.frames else NAMES[1]
    return Difference(min(then.last_step, now.last_step) + 1, "weights", STEP_COUNT, only_in=longer)


def _reason(difference: Difference) -> Reason | None:
    """The reason, where the difference alone would read as one between twins."""
    if difference.uneven:
        shorter = NAMES[1] if difference.only_in == NAMES[0] else NAMES[0]
        uneven = f"{shorter} ended after step {difference.step - 1}, {difference.only_in} went on"
        return Reason("uneven", uneven)
    if difference.only_in is not None:
        what = f"{difference.tensor} ({difference.phase})"
        only = f"{what} exists in {difference.only_in} only, at step {difference.step}"
        return Reason("uneven", only)
    return None


def _bands(contract: Contract, then: KeptSteps, now: KeptSteps) -> CheckResult:
    """Judge the last value of each metric: the epoch's where there is one."""
    judge = Judge(contract, ())
    names = dict.fromkeys([*then.metrics, *now.metrics])
    judge.last_values = {name: [then.metrics.get(name), now.metrics.get(name)] for name in names}
    return _found(*judge.bands())


def _numeric(contract: Contract, then: KeptSteps, now: KeptSteps) -> CheckResult:
    """Judge the losses and metrics of every kept step, then by the kept values of the tensors that the run ended
    with."""
    judge = _KeptJudge(contract)
    for a, b in _pairs(then, now):
        frames = [then.frame(a), now.frame(b)]
        values = [_scalars(frame) for frame in frames]
        shared = [{key: each[key] for key in values[0] if key in values[1]} for each in values]
        steps = [_frame_of(f.step, f.span, each) for f, each in zip(frames, shared, strict=True)]
        if (found := judge.look(steps, shared)) is not None:
            return _broken(found)
    if (uneven := _uneven(then, now)) is not None:
        return _broken(uneven)
    if not then.samples or not now.samples:
        lacking = NAMES[0] if not then.samples else NAMES[1]
        unknown = f"{lacking} keeps no values of its tensors, which {contract} needs"
        return _found(UNDECIDED, Reason("unmeasured", unknown))
    ends = [{(each.phase, each.name): each.array() for each in run.samples} for run in (then, now)]
    found = judge.look([_frame_of(then.last_step, 0, each) for each in ends], ends)
    return _broken(found) if found is not None else _found(REPEATS)


def _frame_of(step: int, span: int, values: dict[Key, np.ndarray]) -> Frame:
    layout = Layout(tuple(phase for phase, _ in values), tuple(name for _, name in values))
    return Frame(step, span, layout, pack([digest_array(array) for array in values.values()]))


def _scalars(frame: Frame) -> dict[Key, np.ndarray]:
    """Losses and metrics are float32 in the program: ULPs are counted in that type."""
    layout = frame.layout
    return {
        (layout.phases[entry], layout.names[entry]): np.array([value], np.float32)
        for entry, value in frame.values
    }


@dataclass
class _Side:
    """A run in the place of a twin: it answers with the values that were kept."""

    name: str
    folder: Path = Path()
    known: dict[Key, np.ndarray] = field(default_factory=dict)

    def outlines(self, keys: list[Key]) -> list[Outline | None]:
        return [outline_of(self.known[key]) if key in self.known else None for key in keys]

    def values(self, parts: list[Part]) -> bytes | None:
        return values_of(parts, self.known.get)

    def dump(self, parts: list[Part], file: Path) -> str | None:
        return None


class _KeptJudge:
    """The judge of twins, with two kept runs in their place."""

    def __init__(self, contract: Contract) -> None:
        self._sides = [_Side(name) for name in NAMES]
        self._judge = Judge(contract, self._sides)

    @property
    def unmeasured(self) -> Reason | None:
        return self._judge.unmeasured

    def look(self, frames: list[Frame], values: list[dict[Key, np.ndarray]]) -> Difference | None:
        """What breaks the contract at these frames, of which these values are known."""
        for side, each in zip(self._sides, values, strict=True):
            side.known = each
        return self._judge.first if self._judge.look(frames) else None
