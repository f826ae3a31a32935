"""Marks: where something that varies between runs comes in, and how a value depends on it.

A mark is an origin (a place in the source) and a mode:

- `VALUE`: the value itself varies;
- `ORDER`: a collection holds the same elements in every run, in an order that varies;
- `ELEMENT`: one element met while going through such a collection.

The distinction is what keeps the noise low: `sorted()` takes away an order, but not a random number.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

VALUE = "value"
ORDER = "order"
ELEMENT = "element"


@dataclass(frozen=True, slots=True)
class Site:
    """A place in a file of the program."""

    file: str
    line: int


def line_of(node: ast.AST) -> int:
    """The line that Python itself would name: for a method in a chain, the line of the method's name."""
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute):
            return function.end_lineno or node.lineno
        return node.lineno
    return int(getattr(node, "lineno", 0))


@dataclass(eq=False, slots=True)
class Origin:
    """A place where something that may differ between two runs enters the program."""

    code: str
    file: str
    line: int
    what: str
    when: int
    """Position in execution order, to tell a seed that came before from one that came after."""
    stream: str | None = None
    """The global stream it was drawn from, when that stream was not seeded."""
    deferred: bool = False
    """Drawn when the data is read, not where it is written: a seed set meanwhile still counts."""
    part: str = ""
    """Which of several origins of one code in one place: `fit` for the shuffle that fit does itself…"""
    reached: str | None = None
    """Where it reached training; None as long as it did not."""
    cancelled: bool = False
    """Something later in the program took it back: a walk whose folders are sorted in place."""
    raced: bool = False
    """Seeds do not help: several threads take from one random state, in the order they happen to come."""
    covered_by: Origin | None = None
    """Another origin whose repair repairs this one too."""
    root: int = 0
    """In a library: the function or class it was last met in. What it reaches elsewhere does not count."""
    evidence: list[str] = field(default_factory=list)


Mark = tuple[Origin, str]
Marks = frozenset[Mark]
NONE: Marks = frozenset()


def without_order(marks: Marks) -> Marks:
    """What is left when neither order nor place in an order matters."""
    return frozenset(mark for mark in marks if mark[1] == VALUE) if marks else marks


def without_collection_order(marks: Marks) -> Marks:
    """What is left of a collection when it is only asked about: is this in it, is it empty."""
    return frozenset(mark for mark in marks if mark[1] != ORDER) if marks else marks


def as_elements(marks: Marks) -> Marks:
    """The marks of one element of a collection with these marks."""
    return frozenset((o, ELEMENT if mode == ORDER else mode) for o, mode in marks) if marks else marks


def as_collection(marks: Marks) -> Marks:
    """The marks of a collection made by going through elements of these marks."""
    return frozenset((o, ORDER if mode == ELEMENT else mode) for o, mode in marks) if marks else marks


def as_value(marks: Marks) -> Marks:
    """The marks of something picked by position, or computed from the order itself."""
    return frozenset((o, VALUE) for o, _ in marks) if marks else marks


_UNFORESEEN = frozenset({"TW108", "TW303"})


def as_name(marks: Marks) -> Marks:
    """The marks of text that a clock, a hash or an identifier was written into: the name of something this run
    makes. What is read back under such a name does not depend on it."""
    return frozenset(mark for mark in marks if not _names_something_new(mark[0])) if marks else marks


def _names_something_new(origin: Origin) -> bool:
    return origin.code in _UNFORESEEN or (origin.code == "TW301" and origin.what.startswith("hash("))


def by_position(marks: Marks) -> Marks:
    """The marks of one part of a collection, picked by its position."""
    return frozenset((o, VALUE if mode == ORDER else mode) for o, mode in marks) if marks else marks


def elements_only(marks: Marks) -> Marks:
    return frozenset(mark for mark in marks if mark[1] == ELEMENT) if marks else marks
