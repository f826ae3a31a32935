"""What the source audit knows of a value: what kind of thing it is, and the marks it carries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from twinrun.audit.marks import NONE, Mark, Marks, without_order

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
"""The constant of a value that is not known."""


class Thing:
    """One abstract value. Things are shared as Python objects are, so that what is done in place is seen."""

    __slots__ = (
        "alternatives",
        "attributes",
        "born",
        "bound",
        "constant",
        "element",
        "items",
        "kind",
        "marks",
        "numeric",
        "path",
        "ref",
        "sure",
    )

    def __init__(
        self,
        kind: str = "plain",
        marks: Marks = NONE,
        *,
        path: str = "",
        constant: Any = MISSING,
        items: list[Thing] | None = None,
        element: Thing | None = None,
        ref: Any = None,
        bound: Thing | None = None,
        numeric: bool = False,
        born: int = 0,
    ) -> None:
        self.kind = kind
        self.marks = marks
        self.path = path
        self.constant = constant
        self.items = items
        self.element = element
        self.attributes: dict[Any, Thing] | None = None
        self.ref = ref
        self.bound = bound
        self.numeric = numeric
        self.born = born
        self.alternatives: tuple[Thing, ...] = ()
        self.sure = ""

    def __repr__(self) -> str:
        shown = [
            self.kind,
            self.path,
            *(f"{origin.code}:{origin.line}:{mode}" for origin, mode in self.marks),
        ]
        return f"<{' '.join(part for part in shown if part)}>"

    def each(self) -> tuple[Thing, ...]:
        """The values it may be: itself, or the alternatives that met after a branch."""
        return self.alternatives or (self,)

    def attribute(self, name: Any) -> Thing | None:
        return self.attributes.get(name) if self.attributes else None

    def set_attribute(self, name: Any, value: Thing) -> None:
        if self.attributes is None:
            self.attributes = {}
        self.attributes[name] = value

    def marked(self, marks: Marks) -> Thing:
        """A copy that carries these marks as well; the original is untouched."""
        if marks <= self.marks:
            return self
        copy = self.copied()
        copy.marks = self.marks | marks
        return copy

    def copied(self) -> Thing:
        copy = Thing.__new__(Thing)
        for name in Thing.__slots__:
            setattr(copy, name, getattr(self, name))
        return copy

    def mark(self, marks: Marks) -> None:
        """Mark the value in place: everyone who holds it sees it."""
        if marks:
            self.marks |= marks
            for other in self.alternatives:
                other.marks |= marks

    def forget_order(self) -> None:
        """After a sort in place."""
        for thing in (self, *self.alternatives):
            thing.marks = without_order(thing.marks)


def plain(marks: Marks = NONE, *, numeric: bool = False) -> Thing:
    return Thing("plain", marks, numeric=numeric)


def constant(value: Any) -> Thing:
    return Thing("plain", constant=value, numeric=isinstance(value, (int, float, complex)))


def join(things: Iterable[Thing]) -> Thing:
    """The value after several ways met: it may be any of them."""
    distinct: list[Thing] = []
    for thing in things:
        for each in thing.each():
            if not any(each is known for known in distinct):
                distinct.append(each)
    if not distinct:
        return plain()
    if len(distinct) == 1:
        return distinct[0]
    marks = NONE.union(*(thing.marks for thing in distinct))
    numeric = all(thing.numeric for thing in distinct)
    if all(thing.kind == "plain" for thing in distinct):
        merged = plain(marks, numeric=numeric)
        first = distinct[0].constant
        if first is not MISSING and all(
            type(t.constant) is type(first) and t.constant == first for t in distinct
        ):
            merged.constant = first
        if all(_not_none(thing) for thing in distinct):
            merged.sure = "not none"
        return merged
    either = Thing("either", marks, numeric=numeric)
    either.alternatives = tuple(distinct[:8])
    return either


def _not_none(thing: Thing) -> bool:
    return bool(thing.sure) or (thing.constant is not MISSING and thing.constant is not None)


def total(thing: Thing, depth: int = 6) -> Marks:
    """All the marks a value carries: its own, and those of its items and attributes."""
    if thing.items is None and thing.element is None and not thing.attributes and not thing.alternatives:
        return thing.marks
    found: set[Mark] = set()
    for each in parts(thing, depth):
        found |= each.marks
    return frozenset(found)


def parts(thing: Thing, depth: int = 6) -> Iterator[Thing]:
    """The value and everything that can be reached from it."""
    return _walk(thing, depth, set())


def _walk(thing: Thing, depth: int, seen: set[int]) -> Iterator[Thing]:
    if id(thing) in seen or depth < 0:
        return
    seen.add(id(thing))
    yield thing
    for group in (thing.alternatives, thing.items or ()):
        for part in group:
            yield from _walk(part, depth - 1, seen)
    if thing.element is not None:
        yield from _walk(thing.element, depth - 1, seen)
    if thing.attributes and thing.kind != "class":
        for part in thing.attributes.values():
            yield from _walk(part, depth - 1, seen)
