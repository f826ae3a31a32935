"""Two tensors element by element: how many differ, by how much, and where first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twinrun.comparison.ulp import is_float, ulp_distance, widened


@dataclass(frozen=True)
class Distance:
    """`max_ulp` and `max_abs` are None where they have no meaning (strings, unequal shapes, NaN against a number)."""

    differing: float  # share of the elements
    count: int
    size: int
    max_ulp: int | None = None
    max_abs: float | None = None
    first_index: tuple[int, ...] | None = None
    first_values: tuple[str, str] | None = None
    note: str | None = None


def distance(a: np.ndarray, b: np.ndarray) -> Distance:
    if a.dtype != b.dtype or a.shape != b.shape:
        note = f"{a.dtype}{list(a.shape)} against {b.dtype}{list(b.shape)}"
        return Distance(1.0, max(a.size, b.size), max(a.size, b.size), note=note)
    if a.size == 0:
        return Distance(0.0, 0, 0)
    different = _bits_differ(a, b)
    count = int(different.sum())
    if count == 0:
        return Distance(0.0, 0, a.size)
    where = np.unravel_index(int(np.argmax(different.reshape(-1))), a.shape) if a.shape else ()
    index = tuple(int(i) for i in where)
    values = (_show(a[index]), _show(b[index]))
    return Distance(
        count / a.size, count, a.size, _max_ulp(a, b), _max_abs(a, b), index, values, _note(a, b, different)
    )


def _bits_differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind in "OSU":
        return np.asarray(a != b)
    width = a.dtype.itemsize
    raw_a = np.ascontiguousarray(a).reshape(-1).view(np.uint8).reshape(-1, width)
    raw_b = np.ascontiguousarray(b).reshape(-1).view(np.uint8).reshape(-1, width)
    return np.asarray((raw_a != raw_b).any(axis=1)).reshape(a.shape)


def _max_ulp(a: np.ndarray, b: np.ndarray) -> int | None:
    if not is_float(a.dtype) or a.dtype.itemsize not in (2, 4, 8):
        return None
    largest = int(ulp_distance(a, b).max())
    return None if largest == 2**64 - 1 else largest


def _max_abs(a: np.ndarray, b: np.ndarray) -> float | None:
    if a.dtype.kind in "OSU":
        return None
    if a.dtype.kind in "iub":
        return float(max(abs(int(x) - int(y)) for x, y in zip(*_extremes(a, b), strict=True)))
    kind = np.complex128 if a.dtype.kind == "c" else np.float64
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(a.astype(kind) - b.astype(kind))
    gap = gap[np.isfinite(gap)]
    return float(gap.max()) if gap.size else None


def _extremes(a: np.ndarray, b: np.ndarray) -> tuple[list[int], list[int]]:
    """The pair of integers furthest apart. Done in Python integers at the end: int64 differences can overflow."""
    gap = np.abs(a.astype(np.longdouble) - b.astype(np.longdouble))
    at = int(np.argmax(gap.reshape(-1)))
    return [int(a.reshape(-1)[at])], [int(b.reshape(-1)[at])]


def _note(a: np.ndarray, b: np.ndarray, different: np.ndarray) -> str | None:
    if not is_float(a.dtype):
        return None
    x, y = widened(a[different]), widened(b[different])
    if bool((x == y).all()):
        return "the numbers are equal and their bits are not: 0.0 against -0.0"
    if bool((np.isnan(x) & np.isnan(y)).all()):
        return "NaN in both, with different payloads"
    if bool((np.isnan(x) != np.isnan(y)).any()):
        return "NaN in one only"
    return None


def _show(value: object) -> str:
    if isinstance(value, bytes):
        return repr(value[:40])
    if isinstance(value, np.generic) and is_float(value.dtype):
        return repr(float(value))
    return str(value)[:40]
