"""Where in a tensor elements differ: its axes folded into two, in a grid that is small for every tensor."""

from __future__ import annotations

import math

from msgspec import Struct

MOST_ROWS, MOST_COLUMNS = 32, 64
ALL = 9


class Elements(Struct, frozen=True):
    """The axes before `split` run down, the others across. A digit for each cell: 0 none of its elements differ, 9 all of
    them, between them the share in eighths, rounded up. `between`: the first and the last index of each axis at which one differs."""

    shape: tuple[int, ...]
    split: int
    rows: tuple[str, ...]
    between: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        digits = "".join(self.rows)
        if not (digits.isascii() and digits.isdigit()) or len({len(row) for row in self.rows}) != 1:
            raise ValueError("the rows of a grid are digits, as many in each")
        if len(self.rows) > MOST_ROWS or len(self.rows[0]) > MOST_COLUMNS:
            raise ValueError(f"a grid of elements has at most {MOST_ROWS} rows of {MOST_COLUMNS}")
        if len(self.between) != len(self.shape) or not 0 <= self.split <= len(self.shape):
            raise ValueError("every axis of a tensor has its place")

    @property
    def sides(self) -> tuple[int, int]:
        """How many elements the folded tensor has down and across."""
        return math.prod(self.shape[: self.split]), math.prod(self.shape[self.split :])
