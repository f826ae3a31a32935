"""The strip of a metric: one row for each group of runs, one dot for each run, with its mean, where the mean lies, and the
recommended band around it. The template draws it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from twinrun.spread.statistics import Summary

_WIDTH, _LEFT, _RIGHT = 720, 150, 700
_ROW, _TOP, _TICKS = 30, 8, 26
_LONGEST = 18  # characters of a row's name
_MOST_DECIMALS = 9  # of a tick
_STAGGER = (0, -5, 5, -9, 9)  # so that equal values do not hide each other


@dataclass(frozen=True)
class Row:
    name: str
    values: Sequence[float]
    summary: Summary
    width: float | None = None  # of the band, where one is recommended


def strip(rows: Sequence[Row]) -> dict[str, Any] | None:
    """A strip of points, or None where all are equal."""
    ends = [value for row in rows for value in row.values]
    ends += [end for row in rows if row.summary.interval for end in row.summary.interval]
    ends += [row.summary.mean + side * row.width for row in rows if row.width for side in (-1, 1)]
    low, high = min(ends, default=0.0), max(ends, default=0.0)
    if not low < high or not math.isfinite(high - low):
        return None
    margin = (high - low) * 0.04
    low, high = low - margin, high + margin

    def x(value: float) -> float:
        return _LEFT + (value - low) / (high - low) * (_RIGHT - _LEFT)

    bottom = _TOP + _ROW * len(rows)
    return {
        "size": (_WIDTH, bottom + _TICKS),
        "bottom": bottom,
        "sides": (_LEFT, _RIGHT),
        "ticks": [(x(value), text) for value, text in _ticks(low, high)],
        "rows": [_drawn(row, _TOP + _ROW * (number + 0.5), x) for number, row in enumerate(rows)],
    }


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round numbers, each with its text."""
    rough = (high - low) / 6
    power = math.floor(math.log10(rough))
    times = next(each for each in (1, 2, 5, 10) if each * 10.0**power >= rough or each == 10)
    step, decimals = times * 10.0**power, max(0, -power - (times == 10))
    if not step or decimals > _MOST_DECIMALS or max(abs(low), abs(high)) >= 1e6:
        return [(low, f"{low:.6g}"), (high, f"{high:.6g}")]
    places = range(math.ceil(low / step), math.floor(high / step) + 1)
    return [(place * step, f"{place * step:.{decimals}f}") for place in places]


def _drawn(row: Row, y: float, x: Callable[[float], float]) -> dict[str, Any]:
    found, width = row.summary, row.width
    name = row.name if len(row.name) <= _LONGEST else f"{row.name[:_LONGEST]}…"
    return {
        "name": name,
        "runs": found.runs,
        "y": y,
        "mean": x(found.mean),
        "interval": [x(end) for end in found.interval] if found.interval else None,
        "band": [x(found.mean - width), x(found.mean + width)] if width else None,
        "dots": [(x(value), y + _STAGGER[place % len(_STAGGER)]) for place, value in enumerate(row.values)],
    }
