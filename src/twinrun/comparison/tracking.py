"""Follows a comparison step by step and makes a timeline of it. Judges nothing, and takes no more memory for a long run than
for a short one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from twinrun.comparison.columns import Columns, Thinned, few
from twinrun.comparison.frames import Distance
from twinrun.comparison.timeline import DIFFERENT, EQUAL, WITHIN, Curve, TensorGrowth, Timeline
from twinrun.recording.frame import EVIDENCE, MEASURED, Frame, Layout
from twinrun.recording.outline import Key

MOST_TENSORS = 32  # whose distances are kept
_MOST_CURVES = 12
_MOST_ROWS = 4096  # layers of which each has its own row until the end
_MOST_LAYOUTS = 64
# Of one tensor before, during and after training.
_WEIGHTS = {"init": "weights", "final": "weights"}
_OF_LAYERS = ("gradient", "weights")


class Mark(NamedTuple):
    """What is known of a tensor that differs."""

    within: bool  # the contract
    distance: Distance | None = None


Marks = Mapping[Key, Mark]


class Tracker:
    def __init__(self, twins: Sequence[str]) -> None:
        self._twins = tuple(twins)
        self._phases = Columns(1)
        self._layers = Columns(1)
        self._rows: dict[Key, Key] = {}  # of each tensor that was seen
        self._curves: dict[Key, Thinned[_Values]] = {}
        self._tensors: dict[Key, Thinned[_Point]] = {}
        self._unmeasured: set[Key] = set()
        self._layouts: dict[int, _Places] = {}
        self._now: tuple[int, list[_Places]] = (-1, [])  # the last step, and what was seen of it
        self._parted = False
        self.followed = 0

    def add(self, frames: Sequence[Frame], marks: Marks | None = None) -> None:
        """One step of all twins, and what differs in it. Of twins that are not at the same place nothing is known."""
        first = frames[0]
        if any((frame.step, frame.is_end) != (first.step, first.is_end) for frame in frames):
            return
        self.add_values(frames)
        places = self._places(first.layout)
        if self._now[0] != first.step:
            self._now = (first.step, [])
        if marks and not self._parted:
            self._part(first)
        self._now[1].append(places)
        columns = (self._phases.column(first), self._layers.column(first))
        if places.seen_in != (now := (*columns, self._phases.width, self._layers.width, self._layers.start)):
            places.seen_in = now
            self._phases.mark(places.phases, columns[0], EQUAL)
            self._layers.mark(places.layers, columns[1], EQUAL)
        for key, mark in (marks or {}).items():
            state = WITHIN if mark.within else DIFFERENT
            self._phases.mark([(key[0], "")], columns[0], state)
            self._layers.mark([self._row(key)], columns[1], state)
            self._measured(first.step, key, mark.distance)
        differing = {_tensor(key) for key in marks or ()}
        for tensor, points in self._tensors.items():
            if tensor not in differing and tensor in places.tensors:  # equal again
                points.add(_Point(first.step, 0, 0.0, 0.0))

    def add_phases(self, frames: Sequence[Frame], different: Iterable[str]) -> None:
        """One step of which only that is known which phases differ."""
        first = frames[0]
        if any((frame.step, frame.is_end) != (first.step, first.is_end) for frame in frames):
            return
        self.add_values(frames)
        column = self._phases.column(first)
        self._phases.mark(self._places(first.layout).phases, column, EQUAL)
        self._phases.mark([(phase, "") for phase in different], column, DIFFERENT)

    def _part(self, frame: Frame) -> None:
        """From this step on there is something to see in the layers. Before, all of them were equal."""
        self._parted = True
        self._layers = self._layers.restarted(frame.step - max(frame.span, 1) + 1)
        for places in self._now[1]:  # of this very step
            self._layers.mark(places.layers, self._layers.column(frame), EQUAL)

    def wanted(self, keys: Sequence[Key]) -> list[Key]:
        """Which of these tensors there is room to track."""
        room = MOST_TENSORS - len(self._tensors)
        new = [key for key in keys if _tensor(key) not in self._tensors][:room]
        return [key for key in keys if key in new or _tensor(key) in self._tensors]

    def timeline(self) -> Timeline | None:
        """The timeline of what was compared, or None."""
        if not self._layouts:
            return None
        return Timeline(
            self._twins,
            self._phases.grid(),
            self._layers.grid(few(self._layers.rows, self._counts())),
            tuple(curve for key, points in self._curves.items() if (curve := _curve(key, points.points))),
            tuple(_growth(key, points.points) for key, points in self._tensors.items()),
            self.followed,
            len(self._unmeasured - self._tensors.keys()),
        )

    def _places(self, layout: Layout) -> _Places:
        known = self._layouts.get(id(layout))
        if known is None or known.layout is not layout:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._layouts.clear()
            phases = [(phase, "") for phase in layout.phase_order if phase not in EVIDENCE]
            keys = [(layout.phases[entry], layout.names[entry]) for entry in layout.by_rank]
            keys = [key for key in keys if key[0] not in EVIDENCE]
            rows = dict.fromkeys(map(self._row, keys))
            known = self._layouts[id(layout)] = _Places(layout, phases, list(rows), set(map(_tensor, keys)))
        return known

    def _row(self, key: Key) -> Key:
        """The layer that a tensor belongs to, by its name. What is no part of one has a row to itself."""
        tensor = _tensor(key)
        row = self._rows.get(tensor)
        if row is None:
            layer = tensor[1].rpartition("/")[0] if tensor[0] in _OF_LAYERS else ""
            row = (tensor[0], layer or tensor[1])
            if len(self._rows) >= _MOST_ROWS:
                return tensor[0], "…"
            self._rows[tensor] = row
        return row

    def _counts(self) -> dict[Key, int]:
        """How many tensors each layer has."""
        counts: dict[Key, int] = {}
        for row in self._rows.values():
            counts[row] = counts.get(row, 0) + 1
        return counts

    def add_values(self, frames: Sequence[Frame]) -> None:
        """The losses, metrics and probes of one step, where nothing else of it is known."""
        found: dict[Key, list[float | None]] = {}
        for number, frame in enumerate(frames):
            for entry, value in frame.values:
                key = (frame.layout.phases[entry], frame.layout.names[entry])
                if key[0] in MEASURED:
                    row = found.setdefault(key, [None] * len(frames))
                    row[number] = value if math.isfinite(value) else None
        for key, values in found.items():
            if key in self._curves or len(self._curves) < _MOST_CURVES:
                self._curves.setdefault(key, Thinned()).add(_Values(frames[0].step, tuple(values)))

    def _measured(self, step: int, key: Key, distance: Distance | None) -> None:
        tensor = _tensor(key)
        room = tensor in self._tensors or len(self._tensors) < MOST_TENSORS
        if room and distance is not None and distance.differing is not None:
            point = _Point(step, distance.max_ulp, distance.max_abs, distance.differing)
            self._tensors.setdefault(tensor, Thinned()).add(point)
        elif len(self._unmeasured) < _MOST_ROWS:
            self._unmeasured.add(tensor)


def _tensor(key: Key) -> Key:
    return _WEIGHTS.get(key[0], key[0]), key[1]


@dataclass
class _Places:
    """The rows of a layout. Very many frames have the same one, and most of them fall into a column that has it already."""

    layout: Layout
    phases: list[Key]
    layers: list[Key]
    tensors: set[Key]
    seen_in: tuple[int, ...] = ()


class _Values(NamedTuple):
    step: int
    values: tuple[float | None, ...]

    @property
    def gap(self) -> float:
        known = [value for value in self.values if value is not None]
        return max(known) - min(known) if len(known) == len(self.values) else math.inf if known else 0.0


class _Point(NamedTuple):
    step: int
    max_ulp: int | None
    max_abs: float | None
    differing: float

    @property
    def gap(self) -> float:
        return math.inf if self.max_abs is None else self.max_abs


def _curve(key: Key, points: Sequence[_Values]) -> Curve | None:
    """None for what has no number at all."""
    twins = tuple(zip(*(point.values for point in points), strict=True))
    if all(value is None for values in twins for value in values):
        return None
    return Curve(*key, tuple(point.step for point in points), twins)


def _growth(key: Key, points: Sequence[_Point]) -> TensorGrowth:
    steps, ulps, gaps, shares = zip(*points, strict=True)
    return TensorGrowth(*key, steps, ulps, gaps, shares)
