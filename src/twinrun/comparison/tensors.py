"""Two tensors element by element, in pieces: how many differ, by how much, and where first."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from twinrun.comparison.element_grid import ElementGrid
from twinrun.comparison.frames import Distance
from twinrun.comparison.ulp import is_float, ulp_distance, widened
from twinrun.masking import mask_tokens
from twinrun.recording.pieces import flat

Number = TypeVar("Number", int, float)
_LOST = 2**64 - 1  # the distance between a NaN and anything with other bits


def distance(a: np.ndarray, b: np.ndarray) -> Distance:
    if a.dtype != b.dtype or a.shape != b.shape:
        return unlike(str(a.dtype), a.shape, str(b.dtype), b.shape)
    gap = Gap(a.shape)
    gap.add(flat(a), flat(b))
    return gap.distance()


def unlike(dtype: str, shape: tuple[int, ...], other_dtype: str, other: tuple[int, ...]) -> Distance:
    """Tensors of different types or shapes: all of their elements differ."""
    size = max(math.prod(shape), math.prod(other))
    note = f"{dtype}{list(shape)} against {other_dtype}{list(other)}"
    return Distance(differing=1.0, differing_count=size, size=size, note=note)


class Gap:
    """The distance of two tensors of one type and shape, as their pieces are seen in order. Pieces that are equal may be
    left out. `where`: find out which elements differ, too."""

    def __init__(self, shape: tuple[int, ...], *, where: bool = False) -> None:
        self._shape = shape
        self._grid = ElementGrid(shape) if where else None
        self._count = 0
        self._first: int | None = None
        self._values = ("", "")
        self._max_ulp: int | None = None
        self._max_abs: float | None = None
        self._same_numbers = self._only_nans = True
        self._lone_nan = False

    def add(self, a: np.ndarray, b: np.ndarray, start: int = 0) -> None:
        """A piece of both, as flat arrays, whose first element is number `start`."""
        different = _bits_differ(a, b)
        count = int(different.sum())
        if not count:
            return
        self._count += count
        if self._first is None:
            at = int(np.argmax(different))
            self._first, self._values = start + at, (_show(a[at]), _show(b[at]))
        if self._grid is not None:
            self._grid.add(start + np.flatnonzero(different))
        a, b = a[different], b[different]
        self._max_ulp = _largest(self._max_ulp, _max_ulp(a, b))
        self._max_abs = _largest(self._max_abs, _max_abs(a, b))
        if is_float(a.dtype):
            x, y = widened(a), widened(b)
            nans = np.isnan(x), np.isnan(y)
            self._same_numbers = self._same_numbers and bool((x == y).all())
            self._only_nans = self._only_nans and bool((nans[0] & nans[1]).all())
            self._lone_nan = self._lone_nan or bool((nans[0] != nans[1]).any())
        else:
            self._same_numbers = self._only_nans = False

    def distance(self) -> Distance:
        size = math.prod(self._shape)
        if self._first is None:
            return Distance(differing=0.0, differing_count=0, size=size)
        return Distance(
            differing=self._count / size,
            differing_count=self._count,
            size=size,
            max_ulp=None if self._max_ulp == _LOST else self._max_ulp,
            max_abs=self._max_abs,
            first_index=tuple(int(i) for i in np.unravel_index(self._first, self._shape)),
            first_values=self._values,
            note=self._note(),
            elements=self._grid.elements() if self._grid is not None else None,
        )

    def _note(self) -> str | None:
        if self._same_numbers:
            return "the numbers are equal but their bits are not: 0.0 against -0.0"
        if self._only_nans:
            return "NaN in both, with different payloads"
        return "NaN in one only" if self._lone_nan else None


def _largest(known: Number | None, found: Number | None) -> Number | None:
    return max((each for each in (known, found) if each is not None), default=None)


def _bits_differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind in "OSU":
        return np.asarray(a != b)
    raw_a, raw_b = (each.reshape(-1, 1).view(np.uint8) for each in (a, b))
    return np.asarray((raw_a != raw_b).any(axis=1))


def _max_ulp(a: np.ndarray, b: np.ndarray) -> int | None:
    if not is_float(a.dtype) or a.dtype.itemsize not in (2, 4, 8):
        return None
    return int(ulp_distance(a, b).max())


def _max_abs(a: np.ndarray, b: np.ndarray) -> float | None:
    if a.dtype.kind in "OSU":
        return None
    if a.dtype.kind in "iub":
        # The pair furthest apart is subtracted as Python integers: differences of int64 can overflow.
        at = int(np.argmax(np.abs(a.astype(np.longdouble) - b.astype(np.longdouble))))
        return float(abs(int(a[at]) - int(b[at])))
    kind = np.complex128 if a.dtype.kind == "c" else np.float64
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(a.astype(kind) - b.astype(kind))
    gap = gap[np.isfinite(gap)]
    return float(gap.max()) if gap.size else None


def _show(value: object) -> str:
    if isinstance(value, bytes):  # masked first: half a token does not look like one
        return repr(mask_tokens(value.decode("latin-1")).encode("latin-1")[:40])
    if isinstance(value, np.generic) and is_float(value.dtype):
        return repr(float(value))
    return mask_tokens(str(value))[:40]
