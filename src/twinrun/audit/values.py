"""What the source audit knows of a value: what kind of thing it is, and the marks it carries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from twinrun.audit.marks import NONE, Mark, Marks, without_order

_ALTERNATIVES = 6
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
    by_identity: dict[int, Thing] = {}
    for thing in things:
        for each in thing.alternatives or (thing,):
            by_identity[id(each)] = each
    distinct = list(by_identity.values())
    if len(distinct) == 1:
        return distinct[0]
    if not distinct:
        return plain()
    marks = NONE.union(*(thing.marks for thing in distinct))
    numeric = all(thing.numeric for thing in distinct)
    if all(thing.kind == "plain" and not thing.attributes for thing in distinct):
        return _joined_plain(distinct, marks, numeric)
    plains = [thing for thing in distinct if thing.kind == "plain" and not thing.attributes]
    if len(plains) > 1:  # the unknown ones are alike: one stands for all
        others = [thing for thing in distinct if thing.kind != "plain" or thing.attributes]
        distinct = [*others, _joined_plain(plains, NONE.union(*(t.marks for t in plains)), False)]
    either = Thing("either", marks, numeric=numeric)
    either.alternatives = tuple(distinct[:_ALTERNATIVES])
    return either


def _joined_plain(things: list[Thing], marks: Marks, numeric: bool) -> Thing:
    merged = plain(marks, numeric=numeric)
    first = things[0].constant
    if first is not MISSING and all(type(t.constant) is type(first) and t.constant == first for t in things):
        merged.constant = first
    if all(_not_none(thing) for thing in things):
        merged.sure = "not none"
    return merged


def _not_none(thing: Thing) -> bool:
    return bool(thing.sure) or (thing.constant is not MISSING and thing.constant is not None)


_PARTS = 150
"""How many parts of one value are looked at: an object may hold, in the end, the whole program."""


def total(thing: Thing) -> Marks:
    """All the marks a value carries: its own, and those of its items and attributes."""
    if thing.items is None and thing.element is None and not thing.attributes and not thing.alternatives:
        return thing.marks
    found: set[Mark] = set()
    for each in parts(thing):
        if each.marks:
            found |= each.marks
    return frozenset(found) if found else NONE


def parts(thing: Thing) -> list[Thing]:
    """The value and everything that can be reached from it, nearest first."""
    reached = [thing]
    seen = {id(thing)}
    for each in reached:  # grows while it is gone through
        if each.alternatives:
            inner: Iterable[Thing] = each.alternatives
        elif each.items:
            inner = each.items if each.element is None else [*each.items, each.element]
        elif each.element is not None:
            inner = (each.element,)
        else:
            inner = ()
        if each.attributes and each.kind != "class":
            inner = [*inner, *each.attributes.values()]
        for part in inner:
            if id(part) not in seen:
                seen.add(id(part))
                reached.append(part)
        if len(reached) > _PARTS:
            break
    return reached
