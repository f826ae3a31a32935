"""The strip of a metric: one row for each group of runs, one dot for each run, with its mean, where the mean lies, and the
recommended band around it. The template draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from twinrun.spread.statistics import Summary

_WIDTH, _LEFT, _RIGHT = 720, 150, 700
_ROW, _TOP, _TICKS = 30, 8, 26
_LONGEST = 18  # characters of a row's name
_STAGGER = (0, -5, 5, -9, 9)  # so that equal values do not hide each other


@dataclass(frozen=True)
class Row:
    name: str
    values: Sequence[float]
    summary: Summary
    width: float | None = None  # of the band, where one is recommended


def strip(rows: Sequence[Row]) -> dict[str, Any] | None:
    """None where there is nothing to tell apart."""
    ends = [value for row in rows for value in row.values]
    ends += [end for row in rows if row.summary.interval for end in row.summary.interval]
    ends += [row.summary.mean + side * row.width for row in rows if row.width for side in (-1, 1)]
    low, high = min(ends, default=0.0), max(ends, default=0.0)
    if not low < high:
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
        "ticks": [(x(value), f"{value:.4g}") for value in _ticks(low, high)],
        "rows": [_drawn(row, _TOP + _ROW * (number + 0.5), x) for number, row in enumerate(rows)],
    }


def _ticks(low: float, high: float) -> list[float]:
    return [low + (high - low) * part / 4 for part in range(5)]


def _drawn(row: Row, y: float, x: Any) -> dict[str, Any]:
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
