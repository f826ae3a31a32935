"""Finds where in a tensor elements differ, as its pieces are compared."""

from __future__ import annotations

import math

import numpy as np

from twinrun.comparison.elements import ALL, MOST_COLUMNS, MOST_ROWS, Elements


class ElementGrid:
    """Counts, piece by piece, the elements that differ in each cell."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape
        self._split = _balanced(shape)
        self._down, self._across = math.prod(shape[: self._split]), math.prod(shape[self._split :])
        self._rows, self._columns = min(self._down, MOST_ROWS), min(self._across, MOST_COLUMNS)
        self._counts = np.zeros(self._rows * self._columns, np.int64)
        self._between: list[tuple[int, int]] = []

    def add(self, differing: np.ndarray) -> None:
        """The numbers of elements that differ, in row-major order."""
        if not differing.size or not self._shape:
            return
        down, across = np.divmod(differing, self._across)
        cells = (down * self._rows // self._down) * self._columns + across * self._columns // self._across
        self._counts += np.bincount(cells, minlength=self._counts.size)
        ends = [(int(axis.min()), int(axis.max())) for axis in np.unravel_index(differing, self._shape)]
        known = self._between or ends
        self._between = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(known, ends, strict=True)]

    def elements(self) -> Elements | None:
        """The grid of elements that differ. None for a single number, or for equal tensors."""
        if not self._between or self._down * self._across < 2:
            return None
        sizes = np.outer(_sizes(self._down, self._rows), _sizes(self._across, self._columns))
        counts = self._counts.reshape(sizes.shape)
        digits = np.where(counts == sizes, ALL, -(-counts * (ALL - 1) // sizes))
        rows = tuple("".join(map(str, row)) for row in digits.tolist())
        return Elements(self._shape, self._split, rows, tuple(self._between))


def _balanced(shape: tuple[int, ...]) -> int:
    """Where to fold, so that both sides are about as long."""
    if math.prod(shape) == 0 or len(shape) < 2:
        return 0
    return min(
        range(1, len(shape)), key=lambda at: abs(math.log(math.prod(shape[:at]) / math.prod(shape[at:])))
    )


def _sizes(length: int, cells: int) -> np.ndarray:
    """How many of so many places fall into each cell."""
    edges = [-(-cell * length // cells) for cell in range(cells + 1)]
    return np.diff(edges)
