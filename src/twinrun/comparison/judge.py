"""The judge looks at the frames of one step from all twins and decides, under the contract, whether to go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from twinrun.comparison.contract import Contract
from twinrun.comparison.frames import Difference, differences, first_to_blame
from twinrun.comparison.tensors import Distance, distance
from twinrun.comparison.verdict import Growth, Reason
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
    first: Difference | None = None  # that breaks the contract
    first_bits: Difference | None = None  # where the bits part, contract or not
    pair: tuple[str, str] = ("A", "B")
    evidence: list[Difference] = field(
        default_factory=list
    )  # differing streams, at the step they were first seen
    growth: list[Growth] = field(default_factory=list)
    differing: list[Difference] = field(
        default_factory=list
    )  # everything that differs at the first difference
    last_values: dict[str, list[float | None]] = field(default_factory=dict)
    unmeasured: Reason | None = None

    def look(self, frames: list[Frame]) -> bool:
        """True when the twins must be held: the contract is broken."""
        self.frames += 1
        self.remember(frames)
        for number, frame in enumerate(frames[1:], start=1):
            found = differences(frames[0], frame, (self.witnesses[0].name, self.witnesses[number].name))
            if any(_may_be_omitted(d) for d in found):
                found = self._asked_for(found, number)
            blamed = first_to_blame(found)
            self.evidence.extend(d for d in found if not d.judged and len(self.evidence) < 32)
            if blamed is not None and self._breaks(blamed, found, number):
                return True
        self.steps = frames[0].step
        return False

    def _asked_for(self, found: list[Difference], number: int) -> list[Difference]:
        """A weight that has not changed for long is reported only where it changes. The other twin has it too."""
        keys = [(d.phase, d.tensor) for d in found if _may_be_omitted(d)][:_MOST_DUMPED]
        witnesses = (self.witnesses[0], self.witnesses[number])
        a, b = (_dumped(witness, keys, found[0].step) for witness in witnesses)
        both = {key: digest_array(a[key]) != digest_array(b[key]) for key in keys if key in a and key in b}
        return [
            replace(d, only_in=None) if (d.phase, d.tensor) in both else d
            for d in found
            if both.get((d.phase, d.tensor), True)
        ]

    def _breaks(self, blamed: Difference, found: list[Difference], number: int) -> bool:
        judged = [d for d in found if d.judged]
        if self.first_bits is None:
            self.pair = (self.witnesses[0].name, self.witnesses[number].name)
            self.differing = judged
            measured = self._measure(judged, number)
            blamed = blamed.measured(measured.get((blamed.phase, blamed.tensor)))
            self.first_bits = blamed
        elif self.contract.bands:
            return False
        else:
            measured = self._measure(judged, number)
        if self.contract.bitwise:
            self.first = blamed
            return True
        self._grow(blamed.step, list(measured.values()))
        if self.contract.bands:
            return False
        return self._outside(judged, measured)

    def _outside(self, judged: list[Difference], measured: dict[Key, Distance]) -> bool:
        for difference in judged:
            key = (difference.phase, difference.tensor)
            if difference.only_in is None and key not in measured:
                unknown = f"the values of {difference.tensor} at step {difference.step} are not known"
                self.unmeasured = Reason("unmeasured", unknown)
                self.first = difference
                return True
            if difference.only_in is not None or not self._within[key]:
                self.first = difference.measured(measured.get(key))
                return True
        return False

    def _measure(self, judged: list[Difference], number: int) -> dict[Key, Distance]:
        """Have both twins dump what differs, and compare it element by element."""
        keys = [(d.phase, d.tensor) for d in judged if d.only_in is None]
        if self.contract.bitwise:
            keys = keys[:_MOST_DUMPED]
        a, b = self.witnesses[0], self.witnesses[number]
        dumps = [_dumped(witness, keys, judged[0].step) for witness in (a, b)]
        self._within: dict[Key, bool] = {}
        measured: dict[Key, Distance] = {}
        for key in keys:
            if key in dumps[0] and key in dumps[1]:
                measured[key] = distance(dumps[0][key], dumps[1][key])
                self._within[key] = not self.contract.numeric or self.contract.holds(
                    dumps[0][key], dumps[1][key]
                )
        return measured

    def _grow(self, step: int, found: list[Distance]) -> None:
        if len(self.growth) < _MOST_GROWTH and found:
            ulps = [d.max_ulp for d in found if d.max_ulp is not None]
            gaps = [d.max_abs for d in found if d.max_abs is not None]
            self.growth.append(Growth(step, max(ulps, default=None), max(gaps, default=None)))

    # metric bands

    def remember(self, frames: list[Frame]) -> None:
        """The values of metrics, of which bands speak."""
        for number, frame in enumerate(frames):
            for entry, value in frame.values:
                if frame.layout.phases[entry] in ("loss", "metric", "probe"):
                    name = frame.layout.names[entry]
                    row = self.last_values.setdefault(name, [None] * len(frames))
                    row[number] = value
                    if self.contract.bands and number and row[0] is not None and row[0] != value:
                        self._grow_metric(frame.step, name, abs(row[0] - value))

    def _grow_metric(self, step: int, name: str, gap: float) -> None:
        if len(self.growth) < _MOST_GROWTH:
            self.growth.append(Growth(step, max_abs=gap, metric=name))

    def bands(self) -> tuple[Reason | None, Reason | None]:
        """(what left its band, what could not be judged), at the end of the run, by each metric's last value."""
        for band in self.contract.bands:
            for name in (f"epoch/{band.metric}", band.metric):
                row = self.last_values.get(name)
                if row is not None:
                    break
            else:
                seen = ", ".join(sorted({name.removeprefix("epoch/") for name in self.last_values})) or "none"
                missing = f"the contract speaks of {band.metric!r}, which was never seen (seen: {seen})"
                return None, Reason("unmeasured", missing)
            values = [value for value in row if value is not None]
            if len(values) < len(row):
                return None, Reason("unmeasured", f"{band.metric!r} was seen in some of the twins only")
            for value in values[1:]:
                if not band.holds(values[0], value):
                    left = f"{band.metric} ended at {values[0]:.9g} and {value:.9g}, outside {band}"
                    return Reason("outside-band", left), None
        return None, None


def _may_be_omitted(difference: Difference) -> bool:
    return difference.only_in is not None and difference.phase == "weights" and not difference.uneven


def _dumped(witness: Witness, keys: list[Key], step: int) -> dict[Key, Any]:
    """What a twin writes down, or a recording has kept. Nothing, where there is no room for it."""
    kept = witness.dump(keys, witness.folder / "tensors" / f"step-{step:06d}.safetensors")
    return read_dump(kept) if kept is not None and kept.is_file() else {}
