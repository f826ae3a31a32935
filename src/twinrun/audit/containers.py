"""Collections: what goes in, what comes out, and what that does to marks.

The marks of a collection itself hold for all of it; each item keeps its own marks beside them.
"""

from __future__ import annotations

from typing import Any

from twinrun.audit.marks import (
    ELEMENT,
    NONE,
    Marks,
    as_collection,
    as_elements,
    as_value,
    elements_only,
    without_order,
)
from twinrun.audit.values import MISSING, Thing, join, plain, total


def element_of(thing: Thing) -> Thing:
    """One element of a collection, whichever it is."""
    inner: list[Thing] = []
    for each in thing.each():
        if each.kind == "dict":  # going through a mapping gives its keys, which are not kept
            continue
        inner.extend(each.items or ())
        if each.element is not None:
            inner.append(each.element)
    if not inner:
        if thing.kind in ("plain", "object") and thing.constant is MISSING:
            thing.element = plain(numeric=thing.numeric)  # what is done to an element is done to the whole
            return thing.element.marked(as_elements(thing.marks))
        return plain(as_elements(total(thing)), numeric=thing.numeric)
    return join(inner).marked(as_elements(thing.marks))


def at(thing: Thing, key: Thing) -> Thing:
    """`thing[key]` for one kind of thing (not an alternative)."""
    marks = total(key)
    name = key.constant
    if thing.kind == "dict":
        found = thing.attribute(name) if _hashable(name) else None
        if found is None:
            found = join(t for t in (thing.element, *(thing.attributes or {}).values()) if t is not None)
        return found.marked(without_order(thing.marks) | marks)
    marks |= as_value(thing.marks)
    if thing.items is not None and isinstance(name, int) and -len(thing.items) <= name < len(thing.items):
        return thing.items[name].marked(marks)
    if thing.items or thing.element is not None:
        return join([*(thing.items or ()), *([thing.element] if thing.element else ())]).marked(marks)
    if thing.kind not in ("plain", "object", "dataset"):
        return plain(marks, numeric=thing.numeric)
    part = thing.copied()
    part.marks, part.constant, part.sure = NONE, MISSING, ""
    if thing.kind != "dataset":
        thing.element = part  # a view: what is written into it is written into the whole
    return part.marked(marks)


def _hashable(name: Any) -> bool:
    return isinstance(name, (str, int, float, bool))


def settled(value: Thing) -> tuple[Thing, Marks]:
    """A value on its way into a collection: its place in an order becomes the order of the collection."""
    gained = as_collection(elements_only(total(value)))
    return (_without_places(value, 3), gained) if gained else (value, NONE)


def _without_places(thing: Thing, depth: int) -> Thing:
    copy = thing.copied()
    copy.marks = thing.marks - elements_only(thing.marks)
    if depth and thing.items is not None:
        copy.items = [_without_places(item, depth - 1) for item in thing.items]
    if depth and thing.element is not None:
        copy.element = _without_places(thing.element, depth - 1)
    if depth and thing.alternatives:
        copy.alternatives = tuple(_without_places(each, depth - 1) for each in thing.alternatives)
    if depth and thing.attributes and thing.kind == "dict":
        copy.attributes = {name: _without_places(each, depth - 1) for name, each in thing.attributes.items()}
    return copy


def put_in(collection: Thing, value: Thing) -> None:
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
            each.element = kept if each.element is None else join((each.element, kept))


def spill(collection: Thing) -> None:
    """Forget which item is where."""
    if collection.items is not None:
        members = [*collection.items, *([collection.element] if collection.element else ())]
        collection.items = None
        collection.element = join(members) if members else None


def disorder(collection: Thing, marks: Marks) -> None:
    """Mark a collection that was rearranged in place."""
    for each in collection.each():
        spill(each)
    collection.mark(marks)


def store(mapping: Thing, key: Thing, value: Thing) -> None:
    """`mapping[key] = value`.

    A key met in varying order, with a value that belongs to that key, makes a mapping whose *order* varies;
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
            each.element = kept if each.element is None else join((each.element, kept))
        else:
            spill(each)
            each.marks |= total(kept)
