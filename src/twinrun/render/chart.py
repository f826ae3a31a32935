"""The growth chart: how far the twins are apart, step by step, on a logarithmic scale. The report's template draws it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from twinrun.result import Growth

_WIDTH, _HEIGHT = 720, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 704, 12, 204  # of what is drawn, without ticks and words
_MOST_LINES = 4  # which the style sheet colours
_MOST_POINTS = 400  # more than a screen has pixels for

Point = tuple[float, float]  # step and distance


def growth_chart(growth: Iterable[Growth]) -> dict[str, Any] | None:
    """One line for the tensors, or one for each metric of a band; None when there are too few points to draw."""
    found: dict[str, list[Point]] = {}
    for row in growth:
        if row.max_abs is not None and math.isfinite(row.max_abs):
            found.setdefault(row.metric or "max abs difference", []).append((row.step, row.max_abs))
    lines = [(name, _thinned(points)) for name, points in list(found.items())[:_MOST_LINES]]
    steps = [step for _, points in lines for step, _ in points]
    positive = [gap for _, points in lines for _, gap in points if gap > 0]
    if len(steps) < 2 or not positive:
        return None
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    high = max(high, low + 1)
    first, last = min(steps), max(steps)
    x = _scale(first, max(last, first + 1), _LEFT, _RIGHT)
    y = _scale(low, high, _BOTTOM, _TOP)
    ticks = sorted({round(first + (last - first) * part / 4) for part in range(5)})
    return {
        "label": f"Distance between the twins from step {first:g} to {last:g}",
        "size": (_WIDTH, _HEIGHT),
        "sides": (_LEFT, _RIGHT),
        "powers": [(y(power), power) for power in range(low, high + 1, max(1, (high - low) // 6))],
        "steps": [(x(step), step) for step in ticks],
        # A distance of zero has no place on a logarithmic scale: it is drawn on the floor.
        "lines": [
            (name, [(x(step), y(math.log10(gap) if gap > 0 else low)) for step, gap in points])
            for name, points in lines
        ],
    }


def _scale(first: float, last: float, start: float, end: float) -> Callable[[float], float]:
    return lambda value: start + (value - first) / (last - first) * (end - start)


def _thinned(points: list[Point]) -> list[Point]:
    """Of every so many points the largest is kept: a peak must not vanish."""
    stride = max(1, math.ceil(len(points) / _MOST_POINTS))
    groups = (points[start : start + stride] for start in range(0, len(points), stride))
    return [max(group, key=lambda point: point[1]) for group in groups]
