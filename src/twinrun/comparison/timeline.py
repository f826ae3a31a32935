"""What was seen of the twins step by step: the part of a result that a report draws. Its size does not grow with the run:
a column stands for as many steps as it must."""

from __future__ import annotations

from itertools import pairwise

from msgspec import Struct

# What became of a tensor, a phase or a step, the worst last.
NOT_COMPARED, EQUAL, WITHIN, DIFFERENT = ".", "=", "~", "x"  # within: the contract allows it
STATES = NOT_COMPARED + EQUAL + WITHIN + DIFFERENT
MOST_COLUMNS = 256


class Row(Struct, frozen=True):
    """A phase, or a layer in one: what became of it in each column. Of several steps or tensors the worst counts."""

    phase: str
    states: str
    name: str = ""
    tensors: int = 0


class Grid(Struct, frozen=True):
    """Rows of states. The first column is everything before step `start`, each of the others `width` steps."""

    start: int = 1
    width: int = 1
    rows: tuple[Row, ...] = ()

    def __post_init__(self) -> None:
        if self.width < 1 or len({len(row.states) for row in self.rows}) > 1:
            raise ValueError("the rows of a grid have as many columns as each other")
        if any(
            set(row.states) - set(STATES) or not 0 < len(row.states) <= MOST_COLUMNS + 1 for row in self.rows
        ):
            raise ValueError(f"a row of a grid has up to {MOST_COLUMNS + 1} states, each one of {STATES}")

    @property
    def columns(self) -> int:
        return len(self.rows[0].states) if self.rows else 0

    def steps(self, column: int) -> tuple[int, int]:
        """The first and the last step of a column."""
        if column == 0:
            return 0, max(0, self.start - 1)
        first = self.start + (column - 1) * self.width
        return first, first + self.width - 1


class Curve(Struct, frozen=True):
    """A loss, metric or probe in every twin. Of many steps those are kept at which the twins are furthest apart. None: not
    reported, or not a finite number."""

    phase: str
    name: str
    steps: tuple[int, ...]
    values: tuple[tuple[float | None, ...], ...]  # of each twin

    def __post_init__(self) -> None:
        _must_be_in_order(self.steps, *self.values)


class TensorGrowth(Struct, frozen=True):
    """How far one tensor is apart, at the steps at which that was measured."""

    phase: str
    tensor: str
    steps: tuple[int, ...]
    max_ulp: tuple[int | None, ...]
    max_abs: tuple[float | None, ...]
    differing: tuple[float, ...]  # share of its elements

    def __post_init__(self) -> None:
        _must_be_in_order(self.steps, self.max_ulp, self.max_abs, self.differing)


class Timeline(Struct, frozen=True):
    """`followed`: how many steps the twins were compared after the contract was broken. `unmeasured`: how many tensors differ
    beside those whose distances are known."""

    twins: tuple[str, ...] = ()
    phases: Grid = Grid()
    layers: Grid = Grid()
    curves: tuple[Curve, ...] = ()
    tensors: tuple[TensorGrowth, ...] = ()
    followed: int = 0
    unmeasured: int = 0


def _must_be_in_order(steps: tuple[int, ...], *columns: tuple[object, ...]) -> None:
    if any(len(column) != len(steps) for column in columns) or any(a >= b for a, b in pairwise(steps)):
        raise ValueError("steps are in order, and each of them has its values")
