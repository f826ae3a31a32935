"""Collections: what goes in, what comes out, and what that does to marks.

The marks of a collection itself hold for all of it; each item keeps its own marks beside them.
"""

from __future__ import annotations

from typing import Any

from twinrun.source_audit.abstract_values import MISSING, Value, join, plain, total
from twinrun.source_audit.marks import (
    ELEMENT,
    NONE,
    Marks,
    as_collection,
    as_elements,
    as_value,
    elements_only,
    without_order,
)


def collection_of(element: Value, kind: str = "list", marks: Marks = NONE) -> Value:
    """A collection of values like this one."""
    made = Value(kind, marks, items=[])
    put_in(made, element)
    spill(made)
    return made


def element_of(value: Value) -> Value:
    """One element of a collection, whichever it is."""
    # Iterating over a mapping gives its keys, which are not kept.
    inner = [member for each in value.each() if each.kind != "dict" for member in each.members]
    if not inner:
        if value.kind in ("plain", "object") and value.constant is MISSING:
            value.element = plain(numeric=value.numeric)  # what is done to an element is done to the whole
            return value.element.marked(as_elements(value.marks))
        return plain(as_elements(total(value)), numeric=value.numeric)
    return join(inner).marked(as_elements(value.marks))


def at(value: Value, key: Value) -> Value:
    """`value[key]` for one kind of value (not an alternative)."""
    marks = total(key)
    name = key.constant
    if value.kind == "dict":
        found = value.attribute(name) if _hashable(name) else None
        found = join(value.held) if found is None else found
        return found.marked(without_order(value.marks) | marks)
    marks |= as_value(value.marks)
    if value.items is not None and isinstance(name, int) and -len(value.items) <= name < len(value.items):
        return value.items[name].marked(marks)
    if value.members:
        return join(value.members).marked(marks)
    if value.kind not in ("plain", "object", "dataset"):
        return plain(marks, numeric=value.numeric)
    part = value.copied()
    part.marks, part.constant, part.sure = NONE, MISSING, ""
    if value.kind != "dataset":
        value.element = part  # a view: what is written into it is written into the whole
    return part.marked(marks)


def _hashable(name: Any) -> bool:
    return isinstance(name, (str, int, float, bool))


def settled(value: Value) -> tuple[Value, Marks]:
    """A value on its way into a collection: its place in an order becomes the order of the collection."""
    gained = as_collection(elements_only(total(value)))
    return (_without_places(value, 3), gained) if gained else (value, NONE)


def _without_places(value: Value, depth: int) -> Value:
    copy = value.copied()
    copy.marks = value.marks - elements_only(value.marks)
    if depth and value.items is not None:
        copy.items = [_without_places(item, depth - 1) for item in value.items]
    if depth and value.element is not None:
        copy.element = _without_places(value.element, depth - 1)
    if depth and value.alternatives:
        copy.alternatives = tuple(_without_places(each, depth - 1) for each in value.alternatives)
    if depth and value.attributes and value.kind == "dict":
        copy.attributes = {name: _without_places(each, depth - 1) for name, each in value.attributes.items()}
    return copy


def put_in(collection: Value, value: Value) -> None:
    """Add one element to a list, a set or a deque."""
    kept, gained = settled(value)
    for each in collection.each():
        if each.kind != "set":
            each.marks |= gained
        if each.items is not None and len(each.items) < 32:
            each.numeric = value.numeric and (each.numeric or not each.items)
            each.items = [*each.items, kept]
        else:
            spill(each)
            each.numeric = each.numeric and value.numeric
            each.add_element(kept)


def spill(collection: Value) -> None:
    """Forget which item is where."""
    if collection.items is not None:
        members, collection.items = collection.members, None
        collection.element = join(members) if members else None


def disorder(collection: Value, marks: Marks) -> None:
    """Mark a collection that was rearranged in place."""
    for each in collection.each():
        spill(each)
    collection.mark(marks)


def store(mapping: Value, key: Value, value: Value) -> None:
    """`mapping[key] = value`.

    Keys that come in varying order, with values that belong to them, make a mapping whose *order* varies;
    a value that depends on the position (a counter, a length) makes one whose *content* does.
    """
    by_key = {origin for origin, mode in total(key) if mode == ELEMENT}
    other = frozenset(mark for mark in elements_only(total(value)) if mark[0] not in by_key)
    kept, _ = settled(value)
    if other:
        kept = kept.marked(as_value(other))
    gained = as_collection(total(key))
    for each in mapping.each():
        each.marks |= gained
        if each.kind == "dict" and _hashable(key.constant):
            each.set_attribute(key.constant, kept)
        elif each.kind == "dict":
            each.add_element(kept)
        else:
            spill(each)
            each.marks |= total(kept)


def update_from(mapping: Value, given: Value) -> None:
    """`mapping.update(given)`."""
    for each in given.each():
        mapping.marks |= each.marks
        for name, value in (each.attributes or {}).items():
            mapping.set_attribute(name, value)
        if each.element is not None:
            mapping.add_element(each.element)
