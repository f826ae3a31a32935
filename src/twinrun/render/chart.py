"""The growth chart: how far the twins are apart, step by step, as one inline SVG on a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from twinrun.result import Growth

_WIDTH, _HEIGHT = 720, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 12, 36
_MOST_POINTS = 400  # more than a screen has pixels for
_MOST_DOTS = 60
_SERIES = ("a", "b", "c", "d")  # classes the style sheet colours

_SVG = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>')
_LINE = Markup('<polyline class="line {}" points="{}"/>')
_DOT = Markup('<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="3"/>')
_GRID = Markup('<line class="grid" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/>')
_TICK = Markup('<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
_KEY = Markup('<span><i class="swatch {}"></i>{}</span>')

Scale = Callable[[float], float]


@dataclass(frozen=True)
class Series:
    name: str
    points: tuple[tuple[float, float], ...]  # step, distance


def series_of(growth: Iterable[Growth]) -> list[Series]:
    """The rows of a result's growth: one line for the tensors, or one for each metric of a band."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in growth:
        if row.max_abs is not None and math.isfinite(row.max_abs):
            found.setdefault(row.metric or "max abs difference", []).append((row.step, row.max_abs))
    return [Series(name, _thinned(points)) for name, points in list(found.items())[: len(_SERIES)]]


def growth_chart(growth: Iterable[Growth]) -> Markup | None:
    """None when there are too few points to draw."""
    lines = series_of(growth)
    steps = [step for line in lines for step, _ in line.points]
    positive = [gap for line in lines for _, gap in line.points if gap > 0]
    if len(steps) < 2 or not positive:
        return None
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    high = max(high, low + 1)
    first, last = min(steps), max(steps)
    x = _scale(first, max(last, first + 1), _LEFT, _WIDTH - _RIGHT)
    y = _scale(low, high, _HEIGHT - _BOTTOM, _TOP)
    parts = [*_grid(low, high, y), *_axis(first, last, x)]
    for kind, line in zip(_SERIES, lines, strict=False):
        # A distance of zero has no place on a logarithmic scale: it is drawn on the floor.
        drawn = [(x(step), y(math.log10(gap) if gap > 0 else low)) for step, gap in line.points]
        parts.append(_LINE.format(kind, " ".join(f"{px:.1f},{py:.1f}" for px, py in drawn)))
        if len(drawn) <= _MOST_DOTS:
            parts += [_DOT.format(kind, px, py) for px, py in drawn]
    label = f"Distance between the twins from step {first:g} to {last:g}"
    return _SVG.format(_WIDTH, _HEIGHT, label, _joined(parts)) + _legend(lines)


def _scale(first: float, last: float, start: float, end: float) -> Scale:
    return lambda value: start + (value - first) / (last - first) * (end - start)


def _grid(low: int, high: int, y: Scale) -> list[Markup]:
    rows: list[Markup] = []
    for power in range(low, high + 1, max(1, (high - low) // 6)):
        rows.append(_GRID.format(_LEFT, _WIDTH - _RIGHT, y(power)))
        rows.append(_TICK.format(_LEFT - 8, y(power) + 4, "end", f"1e{power}"))
    return rows


def _axis(first: float, last: float, x: Scale) -> list[Markup]:
    steps = sorted({round(first + (last - first) * part / 4) for part in range(5)})
    ticks = [_TICK.format(x(step), _HEIGHT - 16, "middle", f"{step:,}") for step in steps]
    return [*ticks, _TICK.format(_WIDTH / 2, _HEIGHT - 2, "middle", "step")]


def _legend(lines: Sequence[Series]) -> Markup:
    keys = [_KEY.format(kind, line.name) for kind, line in zip(_SERIES, lines, strict=False)]
    return Markup('<p class="legend">{}</p>').format(_joined(keys))


def _joined(parts: Sequence[Markup]) -> Markup:
    return Markup("").join(parts)


def _thinned(points: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Of every so many points the largest is kept: a peak must not vanish."""
    stride = max(1, math.ceil(len(points) / _MOST_POINTS))
    groups = (points[start : start + stride] for start in range(0, len(points), stride))
    return tuple(max(group, key=lambda point: point[1]) for group in groups)
