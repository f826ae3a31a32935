"""Holds a run against a baseline, under the baseline's contract: from which step and tensor do they part?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from twinrun.baselines.baseline import SHORT, Baseline, Row
from twinrun.baselines.observed import Observed, Place, place, sample
from twinrun.comparison.contract import Contract, parse_contract
from twinrun.comparison.frames import Difference
from twinrun.comparison.tensors import distance
from twinrun.recording.frame import EVIDENCE, PHASES, Frame
from twinrun.result import DIVERGES, REPEATS, UNDECIDED


@dataclass(frozen=True)
class Judgement:
    """The verdict. `bits` is where the bits part, whatever the contract says; `first` is what breaks it."""

    verdict: str
    reason: str | None = None
    first: Difference | None = None
    bits: Difference | None = None
    steps: int = 0  # compared


def judge(baseline: Baseline, observed: Observed) -> Judgement:
    contract = parse_contract(baseline.contract)
    bits, steps = first_bits(baseline, observed)
    if bits is None:
        return Judgement(REPEATS, steps=steps)
    if contract.bitwise:
        return Judgement(DIVERGES, _in_words(bits), bits, bits, steps)
    if contract.bands:
        verdict = _bands(contract, baseline, observed)
    else:
        verdict = _numeric(contract, baseline, observed)
    return replace(verdict, bits=bits, steps=min(baseline.last_step, _last_step(observed)))


def first_bits(baseline: Baseline, observed: Observed) -> tuple[Difference | None, int]:
    """Where the bits part, and up to which step they were seen to be equal. Equal chains are equal
    histories."""
    equal = 0
    before: Row | None = None
    for row in baseline.rows:
        if row.seq >= len(observed.sightings):
            return Difference(
                _last_step(observed) + 1, "weights", "step count", only_in="the baseline"
            ), equal
        if observed.sightings.chain_at(row.seq).hex() != row.chain:
            return _at(baseline, observed, row, before), equal
        equal, before = row.step, row
    if len(observed.sightings) != baseline.frames:
        return Difference(baseline.last_step + 1, "weights", "step count", only_in="this run"), equal
    return None, equal


def _at(baseline: Baseline, observed: Observed, row: Row, before: Row | None) -> Difference:
    """Names the tensor at the first kept step that differs, or at the next one whose tensors are kept."""
    span = max(1, row.step - (before.step if before else 0))
    frame = observed.sightings.frame(row.seq)
    if row.digests is not None and frame.digests:
        found = list(_differing(row.digests, frame))
        if found:
            phase, name, only = found[0]
            known = Difference(row.step, phase, name, span, only_in=only, others=len(found) - 1)
            return _measured(known, row, frame)
    later = next((each for each in baseline.rows if each.seq > row.seq and each.digests is not None), None)
    if (
        later is not None
        and later.seq < len(observed.sightings)
        and observed.sightings.frame(later.seq).digests
    ):
        assert later.digests is not None
        found = list(_differing(later.digests, observed.sightings.frame(later.seq)))
        if found:
            named = f"{found[0][1]} (tensors are kept again from step {later.step})"
            return Difference(row.step, found[0][0], named, span)
    return Difference(row.step, "weights", "(the baseline keeps no single tensors of this step)", span)


def _differing(kept: dict[Place, str], frame: Frame) -> Iterator[tuple[str, str, str | None]]:
    """Phase, name, and which side alone has it, in the order in which tensors are blamed."""
    seen = {place(frame, entry): frame.digest(entry).hex()[:SHORT] for entry in range(len(frame.layout))}
    everywhere = [*kept, *(where for where in seen if where not in kept and where[0] not in EVIDENCE)]
    for where in sorted(
        everywhere, key=lambda each: PHASES.index(each[0]) if each[0] in PHASES else len(PHASES)
    ):
        if where not in seen:
            yield *where, "the baseline"
        elif where not in kept:
            yield *where, "this run"
        elif kept[where] != seen[where]:
            yield *where, None


def _measured(difference: Difference, row: Row, frame: Frame) -> Difference:
    """With both values where the tensor is a scalar that was kept: a loss, a metric."""
    where = (difference.phase, difference.tensor)
    seen = {place(frame, entry): value for entry, value in frame.values}
    if where in row.values and where in seen:
        return difference.measured(distance(_one(row.values[where]), _one(seen[where])))
    return difference


def _in_words(difference: Difference) -> str | None:
    """The reason, where the difference alone would be read as one of twins."""
    if difference.tensor == "step count":
        shorter = "this run" if difference.only_in == "the baseline" else "the baseline"
        return f"{shorter} ended after step {difference.step - 1}, {difference.only_in} went on"
    if difference.only_in is not None:
        what = f"{difference.tensor} ({difference.phase})"
        return f"{what} exists in {difference.only_in} only, at step {difference.step}"
    return None


def _bands(contract: Contract, baseline: Baseline, observed: Observed) -> Judgement:
    """By the last value of each metric: the epoch's where there is one."""
    now = observed.metrics()
    for band in contract.bands:
        name = next(
            (name for name in (f"epoch/{band.metric}", band.metric) if name in baseline.metrics), None
        )
        if name is None or name not in now:
            where = "the baseline" if name is None else "this run"
            seen = ", ".join(sorted({each.removeprefix("epoch/") for each in baseline.metrics})) or "none"
            lacks = f"which {where} does not have (seen: {seen})"
            return Judgement(UNDECIDED, f"the contract speaks of {band.metric!r}, {lacks}")
        then = baseline.metrics[name]
        if not band.holds(then, now[name]):
            first = Difference(baseline.last_step, "metric", name)
            first = first.measured(distance(_one(then), _one(now[name])))
            return Judgement(
                DIVERGES, f"{band.metric} was {then:.9g} and is {now[name]:.9g}, outside {band}", first
            )
    return Judgement(REPEATS)


def _numeric(contract: Contract, baseline: Baseline, observed: Observed) -> Judgement:
    """By the losses and metrics of every kept step, then by the kept values of the tensors the run ended
    with."""
    for row in baseline.rows:
        if row.seq >= len(observed.sightings):
            break
        frame = observed.sightings.frame(row.seq)
        seen = {place(frame, entry): value for entry, value in frame.values}
        for where, then in row.values.items():
            if where in seen:
                a, b = _one(then), _one(seen[where])
                if not contract.holds(a, b):
                    return Judgement(DIVERGES, None, Difference(row.step, *where).measured(distance(a, b)))
    if len(observed.sightings) != baseline.frames:
        bits, _ = first_bits(baseline, observed)
        if bits is not None and bits.tensor == "step count":
            return Judgement(DIVERGES, _in_words(bits), bits)
        uneven = f"the baseline has {baseline.frames} frames, this run {len(observed.sightings)}"
        return Judgement(DIVERGES, uneven, Difference(baseline.last_step, "weights", "step count"))
    return _samples(contract, baseline, observed)


def _samples(contract: Contract, baseline: Baseline, observed: Observed) -> Judgement:
    if not baseline.samples or not observed.samples:
        lacking = "the baseline" if not baseline.samples else "this run"
        return Judgement(UNDECIDED, f"{lacking} keeps no values of its tensors, which {contract} needs")
    for where in dict.fromkeys([*baseline.samples, *observed.samples]):
        then, now = baseline.samples.get(where), observed.samples.get(where)
        step = baseline.last_step
        if then is None or now is None:
            only = "this run" if then is None else "the baseline"
            found = Difference(step, *where, only_in=only)
            return Judgement(DIVERGES, _in_words(found), found)
        now = sample(now, then.size)
        if not contract.holds(then, now):
            return Judgement(DIVERGES, None, Difference(step, *where).measured(distance(then, now)))
    return Judgement(REPEATS)


def _one(value: float) -> np.ndarray:
    """Losses and metrics are float32 in the program: ULPs are counted in that type."""
    return np.array([value], dtype=np.float32)


def _last_step(observed: Observed) -> int:
    return observed.sightings.frame(len(observed.sightings) - 1).step
