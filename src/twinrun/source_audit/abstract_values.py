"""What the source audit knows of a value: what kind of object it is, and the marks it carries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import Any

from twinrun.source_audit.marks import NONE, Marks, without_order

_ALTERNATIVES = 6
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()  # the constant of an unknown value


@dataclass(eq=False, slots=True)
class Value:
    """One abstract value. It is shared as Python objects are, so that every holder sees a change in place."""

    kind: str = "plain"
    marks: Marks = NONE
    _: KW_ONLY
    path: str = ""  # the dotted name of what it is, or of its class
    constant: Any = MISSING
    items: list[Value] | None = None  # the elements of a collection, one by one, as long as they are known
    element: Value | None = None  # what any element of a collection may be
    attributes: dict[Any, Value] | None = None
    # What it stands for: a function or class of the program, a module, the stages of a dataset.
    ref: Any = None
    bound: Value | None = None
    numeric: bool = False
    created: int = 0  # when, on the clock of the state
    alternatives: tuple[Value, ...] = ()
    sure: str = ""  # `not none` or `true`, of a value that is otherwise unknown

    def __repr__(self) -> str:
        marks = (f"{origin.code}:{origin.line}:{mode}" for origin, mode in self.marks)
        return f"<{' '.join(part for part in (self.kind, self.path, *marks) if part)}>"

    def each(self) -> tuple[Value, ...]:
        """The values it may be: itself, or one for each branch that led here."""
        return self.alternatives or (self,)

    @property
    def members(self) -> list[Value]:
        """What is known of the elements of a collection."""
        return [*(self.items or ()), *([self.element] if self.element is not None else ())]

    @property
    def held(self) -> list[Value]:
        """What is known of the values of a mapping."""
        return [*([self.element] if self.element is not None else ()), *(self.attributes or {}).values()]

    @property
    def is_numeric(self) -> bool:
        """Whether it is a number, or a collection of numbers."""
        return self.numeric or (bool(self.members) and all(member.numeric for member in self.members))

    def may_be(self, *kinds: str) -> bool:
        return any(each.kind in kinds for each in self.each())

    def attribute(self, name: Any) -> Value | None:
        return self.attributes.get(name) if self.attributes else None

    def set_attribute(self, name: Any, value: Value) -> None:
        if self.attributes is None:
            self.attributes = {}
        self.attributes[name] = value

    def add_element(self, value: Value) -> None:
        """From now on, an element may also be this."""
        self.element = value if self.element is None else join((self.element, value))

    def marked(self, marks: Marks) -> Value:
        """A copy that carries these marks as well; the original is untouched."""
        if marks <= self.marks:
            return self
        copy = self.copied()
        copy.marks = self.marks | marks
        return copy

    def copied(self) -> Value:
        copy = Value.__new__(Value)
        for name in Value.__slots__:
            setattr(copy, name, getattr(self, name))
        return copy

    def mark(self, marks: Marks) -> None:
        """Mark the value in place: everyone who holds it sees it."""
        if marks:
            for value in (self, *self.alternatives):
                value.marks |= marks

    def forget_order(self) -> None:
        """After a sort in place."""
        for value in (self, *self.alternatives):
            value.marks = without_order(value.marks)


def plain(marks: Marks = NONE, *, numeric: bool = False) -> Value:
    return Value("plain", marks, numeric=numeric)


def unknown_argument(marks: Marks = NONE) -> Value:
    """What a function of the program is called with by somebody else."""
    return Value(marks=marks, sure="not none")


def constant(value: Any) -> Value:
    return Value("plain", constant=value, numeric=isinstance(value, (int, float, complex)))


def join(values: Iterable[Value]) -> Value:
    """The value after several branches: it may be any of theirs."""
    distinct = list({id(each): each for value in values for each in value.alternatives or (value,)}.values())
    if len(distinct) < 2:
        return distinct[0] if distinct else plain()
    plains = [value for value in distinct if value.kind == "plain" and not value.attributes]
    numeric = all(value.numeric for value in distinct)
    if len(plains) == len(distinct):
        return _joined_plain(plains, numeric)
    marks = NONE.union(*(value.marks for value in distinct))
    if len(plains) > 1:  # the unknown ones are alike: one stands for all
        others = [value for value in distinct if value.kind != "plain" or value.attributes]
        distinct = [*others, _joined_plain(plains, False)]
    return Value("either", marks, numeric=numeric, alternatives=tuple(distinct[:_ALTERNATIVES]))


def _joined_plain(values: list[Value], numeric: bool) -> Value:
    merged = plain(NONE.union(*(value.marks for value in values)), numeric=numeric)
    first = values[0].constant
    if first is not MISSING and all(type(t.constant) is type(first) and t.constant == first for t in values):
        merged.constant = first
    if all(each.sure or (each.constant is not MISSING and each.constant is not None) for each in values):
        merged.sure = "not none"
    return merged


_PARTS = 150  # how many parts of one value are looked at: an object may hold, in the end, the whole program


def total(value: Value) -> Marks:
    """All the marks a value carries: its own, and those of its items and attributes."""
    if value.items is None and value.element is None and not value.attributes and not value.alternatives:
        return value.marks
    return NONE.union(*(each.marks for each in parts(value)))


def parts(value: Value) -> list[Value]:
    """The value and everything that can be reached from it, nearest first."""
    reached = [value]
    seen = {id(value)}
    for each in reached:  # grows meanwhile
        inner: Iterable[Value] = each.alternatives
        if not inner and (each.items or each.element is not None):
            inner = each.members
        if each.attributes and each.kind != "class":
            inner = [*inner, *each.attributes.values()]
        for part in inner:
            if id(part) not in seen:
                seen.add(id(part))
                reached.append(part)
        if len(reached) > _PARTS:
            break
    return reached


@dataclass(eq=False, slots=True)
class Arguments:
    """What a call is given."""

    args: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    spread: Marks = NONE  # the marks of `*args` and `**options`
    open: bool = False  # whether there are arguments that cannot be seen

    @property
    def everything(self) -> list[Value]:
        return [*self.args, *self.keywords.values()]

    @property
    def marks(self) -> Marks:
        """The marks of all of them."""
        return self.spread.union(*map(total, self.everything))

    def after(self, args: Iterable[Value], keywords: Mapping[str, Value] = MappingProxyType({})) -> Arguments:
        """The same arguments behind others."""
        return Arguments([*args, *self.args], {**keywords, **self.keywords}, self.spread, self.open)
