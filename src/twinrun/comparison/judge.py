"""The judge looks at the frames of one step from all twins and decides, under the contract, whether to go on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from twinrun.comparison.contract import Contract
from twinrun.comparison.frames import Difference, differences, first_to_blame, that_count, unlike
from twinrun.comparison.measure import Dumps, Measured, Pair, Witness, measure, outlines_of
from twinrun.comparison.timeline import Timeline
from twinrun.comparison.tracking import Mark, Tracker
from twinrun.comparison.verdict import DIVERGES, REPEATS, UNDECIDED, Growth, Reason, Verdict
from twinrun.recording.frame import MEASURED, PHASES, Frame
from twinrun.recording.outline import Key

_MOST_ASKED = 64  # weights of one step that only one twin reports
_MOST_GROWTH = 1000
_MOST_READ = 4 << 20  # bytes of the values that are read at one step for nothing but the timeline


@dataclass
class Judge:
    contract: Contract
    witnesses: Sequence[Witness]
    dumps: Dumps = field(default_factory=Dumps)
    closely: bool = True  # keep a timeline, and find out which elements differ
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
    compared: tuple[str, ...] = ()  # phases that were, at the step of the first difference
    _other: int = 1  # the number of the twin that differs from the first one
    _differed: int = 0  # at so many looks

    def __post_init__(self) -> None:
        several = self.closely and len(self.witnesses) > 1
        self._tracker = Tracker([witness.name for witness in self.witnesses]) if several else None

    @property
    def timeline(self) -> Timeline | None:
        return self._tracker.timeline() if self._tracker is not None else None

    @property
    def followed(self) -> int:
        """How many steps were followed after the contract was broken."""
        return self._tracker.followed if self._tracker is not None else 0

    def look(self, frames: list[Frame]) -> bool:
        """True when the twins must be held: the contract is broken."""
        self._counts(frames[0])
        self.remember(frames)
        marks: dict[Key, Mark] = {}
        breaks, unknown = False, None
        for number, frame in enumerate(frames[1:], start=1):
            found, unknown = self._found(frames[0], frame, number)
            judged = that_count(found, self.contract.exact)
            blamed = first_to_blame(found, self.contract.exact)
            self.evidence.extend(d for d in found if not d.judged and len(self.evidence) < 32)
            if blamed is not None:
                measured = self._measured(blamed, judged, number)
                breaks = self._breaks(blamed, judged, measured, number)
                marks |= self._marks(judged, measured)
                if breaks:
                    break
            if unknown is not None:
                self.first, self.unmeasured = unknown, not_comparable(unknown)
                return True
        self._track(frames, marks, known=unknown is None)
        if breaks:
            self.compared = frames[0].layout.phase_order
        else:
            self.steps = frames[0].step
        return breaks

    def follow(self, frames: list[Frame]) -> bool:
        """In place of `look`, once the contract is broken: how far the twins are apart from there on. Judges nothing. True
        when nothing more can be compared."""
        a, b = frames[0], frames[self._other]
        if self._tracker is None or self.first is None or (a.step, a.is_end) != (b.step, b.is_end):
            return True
        found, unknown = self._found(a, b, self._other)
        if unknown is not None:
            return True
        judged = that_count(found, self.contract.exact)
        measured = self._read_for_timeline([d.key for d in judged if d.only_in is None], self._other)
        self._track(frames, self._marks(judged, measured))
        self._tracker.followed = a.step - self.first.step
        return False

    def _track(self, frames: list[Frame], marks: dict[Key, Mark], *, known: bool = True) -> None:
        """`known`: what is not marked is equal. Under bands nobody asks for tensors whose digests say nothing."""
        if self._tracker is None:
            return
        if known and not (self.contract.bands and any(unlike(frames[0], frame) for frame in frames[1:])):
            self._tracker.add(frames, marks)
        else:
            self._tracker.add_values(frames)

    def _found(self, a: Frame, b: Frame, number: int) -> tuple[list[Difference], Difference | None]:
        """Every tensor that differs, and the first of which it is not known whether it does."""
        found = differences(a, b, (self.witnesses[0].name, self.witnesses[number].name))
        if any(_may_be_omitted(d) for d in found):
            found = self._asked_for(found, number)
        if not self.contract.bands and (doubtful := unlike(a, b)):
            return self._by_value(found, doubtful, number)
        return found, None

    def skip(self, frames: Iterable[Frame]) -> None:
        """Count a frame of the first twin that is known to be equal in the others."""
        for frame in frames:
            if self._tracker is not None:
                self._tracker.add([frame] * len(self.witnesses))

    def rolled_up(self, frames: list[Frame], different: Iterable[str] | None = None) -> None:
        """Frames without digests of single tensors, and the phases in which they differ, where these are known."""
        if self._tracker is not None and different is not None:
            self._tracker.add_phases(frames, different)
        elif self._tracker is not None:
            self._tracker.add_values(frames)

    def look_rolled_up(self, frames: list[Frame], rolled_up: list[Frame]) -> bool:
        """`look` at two frames of which one has only a digest for each phase; as such, both are given again."""
        self._counts(frames[0])
        self.remember(frames)
        if doubtful := [each for each in unlike(*frames) if each.judged]:
            self.first, self.unmeasured = doubtful[0], not_comparable(doubtful[0])
            return True
        names = (self.witnesses[0].name, self.witnesses[1].name)
        judged = [each for each in differences(rolled_up[0], rolled_up[1], names) if each.judged]
        self.rolled_up(frames, {each.phase for each in judged})
        if (blamed := first_to_blame(judged)) is not None and self._breaks(blamed, judged, {}, 1):
            self.compared = frames[0].layout.phase_order
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

    def _by_value(
        self, found: list[Difference], doubtful: list[Difference], number: int
    ) -> tuple[list[Difference], Difference | None]:
        """The differences, including those found among the doubtful tensors, and the first one that could not be measured."""
        outlines = outlines_of(self._pair(number), [d.key for d in doubtful])
        known = [(d, *outlines[d.key]) for d in doubtful if d.key in outlines]
        differ = [d for d, one, other in known if one != other]
        unknown = next((d for d in doubtful if d.key not in outlines and d.judged), None)
        return sorted([*found, *differ], key=lambda d: PHASES.index(d.phase)), unknown

    def _measured(self, blamed: Difference, judged: list[Difference], number: int) -> dict[Key, Measured]:
        """What the contract needs to know, and what there is room for in the timeline."""
        keys = [d.key for d in judged if d.only_in is None]
        wanted = [key for key in keys if key == blamed.key] if self.contract.bitwise else keys
        if self.contract.bands and self.first_bits is not None:
            wanted = [key for key in keys if key == blamed.key and self._is_exact(blamed)]
        measured = measure(self._pair(number), wanted, self.contract)
        self._differed += 1
        if _now_and_then(self._differed):
            measured |= self._read_for_timeline([key for key in keys if key not in measured], number)
        return measured

    def _read_for_timeline(self, keys: list[Key], number: int) -> dict[Key, Measured]:
        if self._tracker is None:
            return {}
        wanted = self._tracker.wanted(keys)
        return measure(self._pair(number), wanted, self.contract, most=_MOST_READ)

    def _marks(self, judged: list[Difference], measured: dict[Key, Measured]) -> dict[Key, Mark]:
        """Under bands no tensor is judged, so that none is outside the contract."""
        allowed, numeric = bool(self.contract.bands), self.contract.numeric
        return {
            d.key: Mark((allowed and not self._is_exact(d)) or (numeric and known.within), known.distance)
            if (known := measured.get(d.key)) is not None
            else Mark(allowed and not self._is_exact(d))
            for d in judged
        }

    def _is_exact(self, difference: Difference) -> bool:
        """Whether it breaks the contract however small it is. What must be equal comes first in a step."""
        return difference.phase in self.contract.exact

    def _breaks(
        self, blamed: Difference, judged: list[Difference], measured: dict[Key, Measured], number: int
    ) -> bool:
        if self.contract.bands and self.first_bits is not None and not self._is_exact(blamed):
            return False
        first = self.first_bits is None
        if first:
            self._other = number
            self.pair = (self.witnesses[0].name, self.witnesses[number].name)
            self.differing = judged
            self.first_bits = blamed = self._located(_with_distance(blamed, measured), number)
        breaks = self._judged(blamed, judged, measured)
        if breaks and self.first is not None and self.first is not blamed:
            self._other = number
            self.first = self._located(self.first, number)
        if first or breaks:
            keys = [d.key for d in judged if d.only_in is None]
            self.dumps.keep(self._pair(number), keys, blamed.step)
        return breaks

    def _located(self, difference: Difference, number: int) -> Difference:
        """The difference with the places of the elements that differ."""
        if not self.closely or difference.differing_count is None:
            return difference
        return _with_distance(
            difference, measure(self._pair(number), [difference.key], self.contract, where=True)
        )

    def _judged(self, blamed: Difference, judged: list[Difference], measured: dict[Key, Measured]) -> bool:
        """Whether these differences break the contract."""
        if self.contract.bitwise:
            self.first = blamed
            return True
        if self._is_exact(blamed):
            self.first = _with_distance(blamed, measured)
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


def not_comparable(unknown: Difference) -> Reason:
    """Where digests of different kinds say nothing of this tensor, and its values are not known."""
    how = "on a GPU in one run and on the host in the other"
    return Reason("not-comparable", f"{unknown.tensor} was digested {how} at step {unknown.step}")


def _with_distance(difference: Difference, measured: dict[Key, Measured]) -> Difference:
    found = measured.get(difference.key)
    return difference if found is None else difference.measured(found.distance)


def _now_and_then(count: int) -> bool:
    """At first each time, then eight times until the count has doubled."""
    return count < 32 or count % (1 << (count.bit_length() - 4)) == 0


def _may_be_omitted(difference: Difference) -> bool:
    return difference.only_in is not None and difference.phase == "weights" and not difference.uneven
