"""Marks: where something that varies between runs comes in, and how a value depends on it.

A mark is an origin (a place in the source) and a mode:

- `VALUE`: the value itself varies;
- `ORDER`: a collection holds the same elements in every run, in an order that varies;
- `ELEMENT`: the value is one element of such a collection.

The distinction keeps false alarms rare: `sorted()` takes away an order, but not a random number.
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

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


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
    when: int  # position in execution order, to tell a seed that came before from one that came after
    stream: str | None = None  # the global stream it was drawn from, when that stream was not seeded
    deferred: bool = False  # drawn later, when data is read: a seed that is set before then still counts
    # Which of several origins of one code in one place: `fit` for the shuffle that fit itself does, `hash` for hash().
    part: str = ""
    reached: str | None = None  # where it reached training; None as long as it did not
    # Something later in the program undid it: a walk whose folders are sorted in place.
    cancelled: bool = False
    # Seeds do not help: several threads draw from one random state, in whatever order they get to it.
    raced: bool = False
    covered_by: Origin | None = None  # another origin whose fix fixes this one too
    # In a library: the function or class it was last seen in. What it reaches elsewhere does not count.
    root: int = 0
    evidence: list[str] = field(default_factory=list)

    def race(self, line: str) -> None:
        """Make it a race that no seed fixes, with a line of evidence."""
        self.raced = True
        if line not in self.evidence:
            self.evidence.append(line)


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
    """The marks of a collection whose elements, in this order, have these marks."""
    return frozenset((o, ORDER if mode == ELEMENT else mode) for o, mode in marks) if marks else marks


def with_mode(marks: Marks, mode: str) -> Marks:
    """The same origins, on which something depends in this way."""
    return frozenset((origin, mode) for origin, _ in marks) if marks else marks


def as_value(marks: Marks) -> Marks:
    """The marks of something picked by position, or computed from the order itself."""
    return with_mode(marks, VALUE)


def as_name(marks: Marks) -> Marks:
    """The marks of text with a clock, a hash or an identifier in it: the name of something that this run creates.
    What is read back under such a name does not depend on it."""
    return frozenset(mark for mark in marks if not _is_unique(mark[0])) if marks else marks


def _is_unique(origin: Origin) -> bool:
    return origin.code in ("TW108", "TW303") or (origin.code == "TW301" and origin.part == "hash")


def by_position(marks: Marks) -> Marks:
    """The marks of one part of a collection, picked by its position."""
    return frozenset((o, VALUE if mode == ORDER else mode) for o, mode in marks) if marks else marks


def elements_only(marks: Marks) -> Marks:
    return frozenset(mark for mark in marks if mark[1] == ELEMENT) if marks else marks
