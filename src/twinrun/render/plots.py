"""What the plots of a report show: the numbers for the script that draws them, and the same as tables for whoever reads
or hears them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from twinrun.comparison.elements import Elements
from twinrun.comparison.timeline import (
    DIFFERENT,
    EQUAL,
    NOT_COMPARED,
    STATES,
    WITHIN,
    Curve,
    Grid,
    Row,
    Timeline,
)
from twinrun.recording.frame import EVIDENCE, PHASES
from twinrun.result import CheckResult
from twinrun.terminal import inline

IN_WORDS = {
    NOT_COMPARED: "not compared",
    EQUAL: "equal",
    WITHIN: "within the contract",
    DIFFERENT: "different",
}
STEP_PHASES = tuple(phase for phase in PHASES if phase not in EVIDENCE)
_MOST_LAYERS = 40  # that are shown each for itself though nothing is to be seen in them
_MOST_LINES = 100  # of a table


@dataclass(frozen=True)
class Line:
    """How far one tensor, one metric, or the furthest of all tensors is apart."""

    name: str
    phase: str
    steps: tuple[int, ...]
    ulp: tuple[int | None, ...]
    absolute: tuple[float | None, ...]


@dataclass(frozen=True)
class Plots:
    """The plots of one result. What is empty is not drawn."""

    twins: tuple[str, ...]
    last: int  # step that was compared
    first: int | None  # step of the first difference
    steps: Grid
    layers: Grid
    curves: tuple[Curve, ...]
    lines: tuple[Line, ...]
    elements: Elements | None
    followed: int = 0
    unmeasured: int = 0

    @staticmethod
    def of(result: CheckResult) -> Plots:
        seen = result.timeline or Timeline()
        first = result.first_difference or result.first_bit_difference
        parted = first.step if first is not None else None
        return Plots(
            twins=seen.twins,
            last=max(result.steps_compared, (parted or 0) + seen.followed),
            first=parted,
            steps=_with_worst(seen.phases),
            layers=_shown_layers(seen.layers),
            curves=seen.curves,
            lines=tuple(_lines(result)),
            elements=first.elements if first is not None else None,
            followed=seen.followed,
            unmeasured=seen.unmeasured,
        )

    def as_json(self) -> str:
        """The JSON for a page: nothing in it ends a script or begins a tag."""
        document = {
            "twins": self.twins, "first": self.first, "last": self.last,
            "steps": _columns(self.steps), "layers": _columns(self.layers),
            "curves": [_named(each, steps=each.steps, values=each.values) for each in self.curves],
            "lines": [_named(each, steps=each.steps, ulp=each.ulp, abs=each.absolute) for each in self.lines],
            "elements": self.elements and {"shape": self.elements.shape, "split": self.elements.split, "rows": self.elements.rows},
        }  # fmt: skip
        text = json.dumps(_plain(document), separators=(",", ":"), allow_nan=False)
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

    @property
    def stopped(self) -> bool:
        """Whether nothing after the first difference was compared."""
        return self.first is not None and self.steps.steps(self.steps.columns - 1)[0] <= self.first

    @property
    def to_the_end(self) -> bool:
        """Whether the twins were compared up to the end of the program."""
        return any(row.phase == "final" and set(row.states) != {NOT_COMPARED} for row in self.steps.rows)

    def phases_at_first(self, here: str) -> dict[str, str]:
        """What is known of each phase at the first difference, which is in the phase `here`: "equal", "within", "here",
        "later", or "unseen" where nobody observed it. Nothing, where the timeline does not have that difference."""
        rows = {row.phase: row.states for row in self.steps.rows[1:]}
        differs = rows.get(here, "")
        column = next((differs.index(state) for state in (DIFFERENT, WITHIN) if state in differs), None)
        if column is None:
            return {}
        found = {}
        for number, phase in enumerate(STEP_PHASES):
            states = rows.get(phase, "")
            state = states[0 if phase == "init" else column] if states else NOT_COMPARED
            if number == STEP_PHASES.index(here):
                found[phase] = "here"
            elif number > STEP_PHASES.index(here):
                found[phase] = "later" if states.strip(NOT_COMPARED) else "unseen"
            else:  # a column of several steps may have a later difference
                known = {EQUAL: "equal", WITHIN: "within", NOT_COMPARED: "unseen"}
                found[phase] = known.get(state, "later")
        return found

    # tables

    def ranges(self) -> list[tuple[str, str, str]]:
        """Steps, what became of them, and the phases that are to blame for it."""
        if not self.steps.rows:
            return []
        found = []
        columns = ["".join(row.states[n] for row in self.steps.rows) for n in range(self.steps.columns)]
        number = 0
        for states, group in groupby(columns):
            count = len(list(group))
            phases = [r.phase for r, s in zip(self.steps.rows[1:], states[1:], strict=True) if s == states[0]]
            if states[0] != NOT_COMPARED:
                words = IN_WORDS[states[0]]
                found.append((self._steps(self.steps, number, number + count - 1), words, ", ".join(phases)))
            number += count
        return found[:_MOST_LINES]

    def layer_rows(self) -> list[tuple[Row, str, str]]:
        """Each layer with its worst state, and the first steps at which it was in it."""
        found = []
        for row in self.layers.rows:
            state = max(row.states, key=STATES.index)
            at = row.states.index(state)
            steps = self._steps(self.layers, at, at) if state in (WITHIN, DIFFERENT) else ""
            found.append((row, IN_WORDS[state], steps))
        return found

    def curve_rows(self, curve: Curve) -> list[tuple[int, tuple[float | None, ...]]]:
        """Some steps of a curve, the last and those around the first difference among them."""
        rows = list(zip(curve.steps, zip(*curve.values, strict=True), strict=True))
        stride = math.ceil(len(rows) / _MOST_LINES)
        near = self.first if self.first is not None else -10
        return [
            row
            for number, row in enumerate(rows)
            if number % stride == 0 or number == len(rows) - 1 or abs(row[0] - near) < 4
        ]

    def _steps(self, grid: Grid, first: int, last: int) -> str:
        """The steps of some columns."""
        start, end = grid.steps(first)[0], min(grid.steps(last)[1], max(self.last, grid.steps(last)[0]))
        if last == 0:
            return "before the first step" if grid.start <= 1 else f"before {grid.start:,}"
        return f"{start:,}" if start == end else f"{start:,}–{end:,}"


def _with_worst(grid: Grid) -> Grid:
    """The phases in their order, and above them the worst of all."""
    if not grid.rows:
        return grid
    rank = {phase: number for number, phase in enumerate(PHASES)}
    rows = sorted(grid.rows, key=lambda row: rank.get(row.phase, len(rank)))
    return Grid(grid.start, grid.width, (Row("step", _worst(rows)), *rows))


def _shown_layers(grid: Grid) -> Grid:
    """Where there are very many layers, those that are equal at every step share a row."""
    if len(grid.rows) <= _MOST_LAYERS:
        return grid
    quiet = [row for row in grid.rows if not set(row.states) & {WITHIN, DIFFERENT}]
    rows = [row for row in grid.rows if row not in quiet]
    if len(quiet) > 1:
        tensors = sum(row.tensors for row in quiet)
        rows.append(Row("", _worst(quiet), f"{len(quiet)} other layers", tensors))
    return Grid(grid.start, grid.width, tuple(rows or grid.rows))


def _worst(rows: Sequence[Row]) -> str:
    return "".join(
        max(states, key=STATES.index) for states in zip(*(row.states for row in rows), strict=True)
    )


def _lines(result: CheckResult) -> Iterable[Line]:
    """A line for each tensor that was measured (without any, for the furthest of all) and for each metric under a band."""
    tensors = result.timeline.tensors if result.timeline is not None else ()
    for each in tensors:
        yield Line(each.tensor, each.phase, each.steps, each.max_ulp, each.max_abs)
    found: dict[str | None, dict[int, tuple[int | None, float | None]]] = {}
    for row in result.growth:
        if row.metric is not None or not tensors:
            found.setdefault(row.metric, {})[row.step] = (row.max_ulp, row.max_abs)
    for metric, points in found.items():
        steps, measured = zip(*sorted(points.items()), strict=True)
        ulp, absolute = zip(*measured, strict=True)
        name, phase = ("furthest of all tensors", "") if metric is None else (metric, "metric")
        if any(value is not None for value in absolute):
            yield Line(name, phase, steps, ulp, absolute)


def _columns(grid: Grid) -> dict[str, Any] | None:
    if not grid.rows:
        return None
    rows = [_named(row, states=row.states, tensors=row.tensors) for row in grid.rows]
    return {"start": grid.start, "width": grid.width, "rows": rows}


def _named(each: Row | Curve | Line, **fields: Any) -> dict[str, Any]:
    return {"phase": each.phase, "name": each.name, **fields}


def _plain(value: Any) -> Any:
    """The value as JSON can hold it: texts without control characters, finite numbers."""
    if isinstance(value, str):
        return inline(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value
