"""A variation: one thing that can be changed between the twins on purpose and must not matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Setting = tuple[str, Mapping[str, str]]  # what a twin gets, in a word, and the environment that makes it so


@dataclass(frozen=True)
class Variation:
    """`of(n)` is the setting of the n-th twin; the first twin runs as it is. What a setting changes inside the process
    is done by the source's own points, which read it from the session."""

    name: str
    summary: str
    of: Callable[[int], Setting]
    code: str  # of the finding when it does matter
    message: str
    traces_ops: bool = False  # to blame is the first op that differs


def inside(first: str, others: str) -> Callable[[int], Setting]:
    """A variation that is made inside the process."""
    return lambda number: (first if number == 0 else others, {})
