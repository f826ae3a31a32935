"""The judge looks at the frames of one step from all twins and decides, under the contract, whether to go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from twinrun.comparison.contract import Contract
from twinrun.comparison.frames import Difference, differences, first_to_blame
from twinrun.comparison.measure import Dumps, Measured, Pair, Witness, measure, outlines_of
from twinrun.comparison.verdict import DIVERGES, REPEATS, UNDECIDED, Growth, Reason, Verdict
from twinrun.recording.frame import MEASURED, Frame
from twinrun.recording.outline import Key

_MOST_ASKED = 64  # weights of one step that only one twin reports
_MOST_GROWTH = 1000


@dataclass
class Judge:
    contract: Contract
    witnesses: Sequence[Witness]
    dumps: Dumps = field(default_factory=Dumps)
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

    def _pair(self, number: int) -> Pair:
        return self.witnesses[0], self.witnesses[number]

    def _asked_for(self, found: list[Difference], number: int) -> list[Difference]:
        """A weight that has not changed for long is reported only where it changes. The other twin has it too."""
        keys = [d.key for d in found if _may_be_omitted(d)][:_MOST_ASKED]
        differ = {key: a != b for key, (a, b) in outlines_of(self._pair(number), keys).items()}
        return [replace(d, only_in=None) if d.key in differ else d for d in found if differ.get(d.key, True)]

    def _breaks(self, blamed: Difference, found: list[Difference], number: int) -> bool:
        if self.contract.bands and self.first_bits is not None:
            return False
        judged = [d for d in found if d.judged]
        keys = [d.key for d in judged if d.only_in is None]
        wanted = [key for key in keys if key == blamed.key] if self.contract.bitwise else keys
        measured = measure(self._pair(number), wanted, self.contract)
        first = self.first_bits is None
        if first:
            self.pair = (self.witnesses[0].name, self.witnesses[number].name)
            self.differing = judged
            self.first_bits = blamed = _with_distance(blamed, measured)
        breaks = self._judged(blamed, judged, measured)
        if first or breaks:
            self.dumps.keep(self._pair(number), keys, blamed.step)
        return breaks

    def _judged(self, blamed: Difference, judged: list[Difference], measured: dict[Key, Measured]) -> bool:
        """Whether these differences break the contract."""
        if self.contract.bitwise:
            self.first = blamed
            return True
        if measured:
            distances = [each.distance for each in measured.values()]
            ulps = [d.max_ulp for d in distances if d.max_ulp is not None]
            gaps = [d.max_abs for d in distances if d.max_abs is not None]
            self._grow(Growth(blamed.step, max(ulps, default=None), max(gaps, default=None)))
        return not self.contract.bands and self._outside(judged, measured)

    def _outside(self, judged: list[Difference], measured: dict[Key, Measured]) -> bool:
        for difference in judged:
            if difference.only_in is None and difference.key not in measured:
                unknown = f"the values of {difference.tensor} at step {difference.step} are not known"
                self.unmeasured = Reason("unmeasured", unknown)
                self.first = difference
                return True
            if difference.only_in is not None or not measured[difference.key].within:
                self.first = _with_distance(difference, measured)
                return True
        return False

    def _grow(self, growth: Growth) -> None:
        if len(self.growth) < _MOST_GROWTH:
            self.growth.append(growth)

    # metric bands

    def remember(self, frames: list[Frame]) -> None:
        """Keep the last values of metrics, for bands."""
        for number, frame in enumerate(frames):
            for entry, value in frame.values:
                if frame.layout.phases[entry] in MEASURED:
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


def _with_distance(difference: Difference, measured: dict[Key, Measured]) -> Difference:
    found = measured.get(difference.key)
    return difference if found is None else difference.measured(found.distance)


def _may_be_omitted(difference: Difference) -> bool:
    return difference.only_in is not None and difference.phase == "weights" and not difference.uneven
