"""Columns of steps that grow wider as a run grows longer, so that a timeline does not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from twinrun.comparison.timeline import MOST_COLUMNS, STATES, Grid, Row
from twinrun.recording.frame import Frame
from twinrun.recording.outline import Key

_MOST_LAYERS = 160


class Columns:
    """Rows of states, a byte for each column. The first column is everything before `start`."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.width = 1
        self.columns = 1
        self.rows: dict[Key, bytearray] = {}

    def restarted(self, start: int) -> Columns:
        """From that step on, with the same rows. What came before is one column."""
        new = Columns(start)
        new.rows = {key: bytearray([max(row)]) for key, row in self.rows.items()}
        return new

    def column(self, frame: Frame) -> int:
        if frame.step < self.start:
            return 0
        if self.columns == 1:  # where not every step is compared, a column begins as wide as that
            self.width = max(self.width, frame.span)
        while self.width < frame.span or frame.step - self.start >= MOST_COLUMNS * self.width:
            self._widen()
        column = 1 + (frame.step - self.start) // self.width
        self.columns = max(self.columns, column + 1)
        return column

    def _widen(self) -> None:
        self.width *= 2
        self.columns = 1 + self.columns // 2
        for key, row in self.rows.items():
            later = row[1:] + bytes(len(row[1:]) % 2)
            self.rows[key] = row[:1] + bytearray(map(max, later[::2], later[1::2]))

    def mark(self, rows: Iterable[Key], column: int, state: str) -> None:
        """The worst state of a column stays."""
        level = STATES.index(state)
        for key in rows:
            row = self.rows.setdefault(key, bytearray(1))
            if len(row) <= column:
                row.extend(bytes(column + 1 - len(row)))
            row[column] = max(row[column], level)

    def grid(self, rows: Sequence[tuple[Key, bytearray, int]] | None = None) -> Grid:
        shown = [(key, row, 0) for key, row in self.rows.items()] if rows is None else rows
        return Grid(
            self.start,
            self.width,
            tuple(
                Row(phase, "".join(STATES[level] for level in row.ljust(self.columns, b"\0")), name, count)
                for (phase, name), row, count in shown
            ),
        )


def few(rows: Mapping[Key, bytearray], counts: Mapping[Key, int]) -> list[tuple[Key, bytearray, int]]:
    """Rows for a map that can be taken in: where there are very many layers, those inside the same one are joined; where
    that is not enough, those that follow each other."""
    found = [(key, row, counts.get(key, 0)) for key, row in rows.items()]
    depth = max((key[1].count("/") for key in rows), default=0)
    while len(found) > _MOST_LAYERS and depth:
        found = _joined(found, [(phase, "/".join(name.split("/")[:depth])) for (phase, name), _, _ in found])
        depth -= 1
    if len(found) > _MOST_LAYERS:
        size = math.ceil(len(found) / _MOST_LAYERS)
        firsts = [found[number - number % size][0] for number in range(len(found))]
        lasts = dict(zip(firsts, (key for key, _, _ in found), strict=True))
        found = _joined(found, [(phase, f"{name} … {lasts[phase, name][1]}") for phase, name in firsts])
    return found


def _joined(
    rows: Sequence[tuple[Key, bytearray, int]], names: Sequence[Key]
) -> list[tuple[Key, bytearray, int]]:
    found: dict[Key, tuple[bytearray, int]] = {}
    for (_, row, count), name in zip(rows, names, strict=True):
        known, total = found.get(name, (bytearray(), 0))
        longest = max(len(row), len(known))
        both = bytearray(map(max, row.ljust(longest, b"\0"), known.ljust(longest, b"\0")))
        found[name] = both, total + count
    return [(name, row, count) for name, (row, count) in found.items()]


class Point(Protocol):
    @property
    def step(self) -> int: ...
    @property
    def gap(self) -> float: ...


P = TypeVar("P", bound=Point)


class Thinned(Generic[P]):
    """Points of some steps: of all that fall into one column, the one at which the twins are furthest apart. Of equal
    ones it is the last, in the first column the first: a curve begins and ends where it does."""

    def __init__(self) -> None:
        self.points: list[P] = []
        self._width = 1

    def add(self, point: P) -> None:
        self._put(point)
        while len(self.points) > MOST_COLUMNS:
            self._width *= 2
            before, self.points = self.points, []
            for each in before:
                self._put(each)

    def _put(self, point: P) -> None:
        last = self.points[-1] if self.points else None
        if last is not None and point.step < last.step:
            return  # as in no recording of ours
        if last is None or last.step // self._width < point.step // self._width:
            self.points.append(point)
        elif point.gap > last.gap or (point.gap == last.gap and len(self.points) > 1):
            self.points[-1] = point
