"""The judge looks at the frames of one step from all twins and decides, under the contract, whether to go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from twinrun.comparison.contract import Contract
from twinrun.comparison.frames import Difference, Distance, differences, first_to_blame
from twinrun.comparison.tensors import distance
from twinrun.comparison.verdict import DIVERGES, REPEATS, UNDECIDED, Growth, Reason, Verdict
from twinrun.recording.digest import digest_array
from twinrun.recording.dump import Key, read_dump
from twinrun.recording.frame import Frame

_MOST_DUMPED = 64  # tensors of one step that are dumped and measured
_MOST_GROWTH = 1000


class Witness(Protocol):
    """A twin that can be asked for the tensors of the step it stands at, or a recording that kept them."""

    name: str
    folder: Path

    def dump(self, entries: list[Key], file: Path) -> Path | None:
        """The file that holds the values: the one asked for, or one that was kept. None where there are none."""


@dataclass
class Judge:
    contract: Contract
    witnesses: Sequence[Witness]
    steps: int = 0  # compared
    frames: int = 0
    observed: bool = False  # something trained, evaluated or probed was among them
    first: Difference | None = None  # that breaks the contract
    first_bits: Difference | None = None  # where the bits part, contract or not
    pair: tuple[str, str] = ("A", "B")
    # Differing streams, at the step they were first seen.
    evidence: list[Difference] = field(default_factory=list)
    growth: list[Growth] = field(default_factory=list)
    # Everything that differs at the first difference.
    differing: list[Difference] = field(default_factory=list)
    last_values: dict[str, list[float | None]] = field(default_factory=dict)
    unmeasured: Reason | None = None
    fed: bool = False  # a batch was compared at the step of the first difference
    _within: dict[Key, bool] = field(default_factory=dict)  # of the tensors last measured: equal enough

    def look(self, frames: list[Frame]) -> bool:
        """True when the twins must be held: the contract is broken."""
        self._counts(frames[0])
        self.remember(frames)
        for number, frame in enumerate(frames[1:], start=1):
            found = differences(frames[0], frame, (self.witnesses[0].name, self.witnesses[number].name))
            if any(_may_be_omitted(d) for d in found):
                found = self._asked_for(found, number)
            blamed = first_to_blame(found)
            self.evidence.extend(d for d in found if not d.judged and len(self.evidence) < 32)
            if blamed is not None and self._breaks(blamed, found, number):
                self.fed = "batch" in frames[0].layout.phases
                return True
        self.steps = frames[0].step
        return False

    def count(self, frames: list[Frame]) -> bool:
        """In place of `look`, where there is nothing to compare with."""
        self._counts(frames[0])
        self.steps = frames[0].step
        return False

    def _counts(self, frame: Frame) -> None:
        self.frames += 1
        self.observed = self.observed or frame.is_observation

    def _asked_for(self, found: list[Difference], number: int) -> list[Difference]:
        """A weight that has not changed for long is reported only where it changes. The other twin has it too."""
        keys = [d.key for d in found if _may_be_omitted(d)][:_MOST_DUMPED]
        dumped = self._dumped(keys, found[0].step, number)
        differ = {key: digest_array(a) != digest_array(b) for key, (a, b) in dumped.items()}
        return [replace(d, only_in=None) if d.key in differ else d for d in found if differ.get(d.key, True)]

    def _breaks(self, blamed: Difference, found: list[Difference], number: int) -> bool:
        if self.contract.bands and self.first_bits is not None:
            return False
        judged = [d for d in found if d.judged]
        measured = self._measure(judged, number)
        if self.first_bits is None:
            self.pair = (self.witnesses[0].name, self.witnesses[number].name)
            self.differing = judged
            self.first_bits = blamed = blamed.measured(measured.get(blamed.key))
        if self.contract.bitwise:
            self.first = blamed
            return True
        if measured:
            ulps = [d.max_ulp for d in measured.values() if d.max_ulp is not None]
            gaps = [d.max_abs for d in measured.values() if d.max_abs is not None]
            self._grow(Growth(blamed.step, max(ulps, default=None), max(gaps, default=None)))
        return not self.contract.bands and self._outside(judged, measured)

    def _outside(self, judged: list[Difference], measured: dict[Key, Distance]) -> bool:
        for difference in judged:
            if difference.only_in is None and difference.key not in measured:
                unknown = f"the values of {difference.tensor} at step {difference.step} are not known"
                self.unmeasured = Reason("unmeasured", unknown)
                self.first = difference
                return True
            if difference.only_in is not None or not self._within[difference.key]:
                self.first = difference.measured(measured.get(difference.key))
                return True
        return False

    def _measure(self, judged: list[Difference], number: int) -> dict[Key, Distance]:
        """Have both twins dump what differs, and compare it element by element."""
        keys = [d.key for d in judged if d.only_in is None]
        if self.contract.bitwise:
            keys = keys[:_MOST_DUMPED]
        dumped = self._dumped(keys, judged[0].step, number)
        numeric, holds = self.contract.numeric, self.contract.holds
        self._within = {key: not numeric or holds(a, b) for key, (a, b) in dumped.items()}
        return {key: distance(a, b) for key, (a, b) in dumped.items()}

    def _dumped(self, keys: list[Key], step: int, number: int) -> dict[Key, tuple[Any, Any]]:
        """Those of the tensors that both twins write down, or have kept: there may be no room for them."""
        dumps: list[dict[Key, Any]] = []
        for witness in (self.witnesses[0], self.witnesses[number]):
            kept = witness.dump(keys, witness.folder / "tensors" / f"step-{step:06d}.safetensors")
            dumps.append(read_dump(kept) if kept is not None and kept.is_file() else {})
        a, b = dumps
        return {key: (a[key], b[key]) for key in keys if key in a and key in b}

    def _grow(self, growth: Growth) -> None:
        if len(self.growth) < _MOST_GROWTH:
            self.growth.append(growth)

    # metric bands

    def remember(self, frames: list[Frame]) -> None:
        """Keep the last values of metrics, for bands."""
        for number, frame in enumerate(frames):
            for entry, value in frame.values:
                if frame.layout.phases[entry] in ("loss", "metric", "probe"):
                    name = frame.layout.names[entry]
                    row = self.last_values.setdefault(name, [None] * len(frames))
                    row[number] = value
                    if self.contract.bands and number and row[0] is not None and row[0] != value:
                        self._grow(Growth(frame.step, max_abs=abs(row[0] - value), metric=name))

    def bands(self) -> tuple[Verdict, Reason | None]:
        """The verdict at the end of the run, by each metric's last value."""
        for band in self.contract.bands:
            for name in (f"epoch/{band.metric}", band.metric):
                row = self.last_values.get(name)
                if row is not None:
                    break
            else:
                seen = ", ".join(sorted({name.removeprefix("epoch/") for name in self.last_values})) or "none"
                missing = f"the contract names {band.metric!r}, which was never seen (seen: {seen})"
                return UNDECIDED, Reason("unmeasured", missing)
            values = [value for value in row if value is not None]
            if len(values) < len(row):
                return UNDECIDED, Reason("unmeasured", f"{band.metric!r} was seen in some of the twins only")
            for value in values[1:]:
                if not band.holds(values[0], value):
                    left = f"{band.metric} ended at {values[0]:.9g} and {value:.9g}, outside {band}"
                    return DIVERGES, Reason("outside-band", left)
        return REPEATS, None


def _may_be_omitted(difference: Difference) -> bool:
    return difference.only_in is not None and difference.phase == "weights" and not difference.uneven
