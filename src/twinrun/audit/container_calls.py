"""Methods of lists, sets, dictionaries and queues of Python's own."""

from __future__ import annotations

from twinrun.audit import calls
from twinrun.audit.call import Call, Handler
from twinrun.audit.containers import at, put_in, spill, store
from twinrun.audit.marks import ORDER, VALUE, as_elements, as_value, elements_only, without_order
from twinrun.audit.values import Thing, join, plain, total


def update_from(made: Thing, given: Thing) -> None:
    for each in given.each():
        made.marks |= each.marks
        for name, value in (each.attributes or {}).items():
            made.set_attribute(name, value)
        if each.element is not None:
            made.element = each.element if made.element is None else join((made.element, each.element))


def container_method(call: Call) -> Thing | None:
    """A method of a list, tuple, set, dict or generator."""
    handler = _METHODS.get(call.path)
    return handler(call) if handler is not None else None


def _nothing(call: Call) -> Thing:
    return plain()


def _holder(call: Call) -> Thing:
    return call.receiver if call.receiver is not None else plain()


def _append(call: Call) -> Thing:
    if call.args:
        holder, value = _holder(call), call.args[-1]
        put_in(holder, value)
        holder.mark(call.world.control)
    return plain()


def _extend(call: Call) -> Thing:
    holder = _holder(call)
    for given in call.args:
        if any(each.kind == "dict" for each in holder.each()):
            update_from(holder, given)
            continue
        for each in holder.each():
            spill(each)
        put_in(holder, calls.iterated(call, given))
        holder.mark(without_order(given.marks) | call.world.control)
    return plain()


def _pop(call: Call) -> Thing:
    """Picks by position; of a set, whichever comes first."""
    holder = _holder(call)
    if holder.kind == "dict":
        return _get(call)
    element = calls.iterated(call, holder)
    return element.marked(as_value(elements_only(element.marks)))


def _index(call: Call) -> Thing:
    """The place of something in an order."""
    return plain(as_value(_holder(call).marks) | call.marks, numeric=True)


def _get(call: Call) -> Thing:
    holder = _holder(call)
    key = call.args[0] if call.args else plain()
    found = join(at(each, key) for each in holder.each())
    return join((found, call.args[1])) if len(call.args) > 1 else found


def _setdefault(call: Call) -> Thing:
    if len(call.args) == 2:
        store(_holder(call), call.args[0], call.args[1])
    return _get(call)


def _values_of(holder: Thing) -> Thing:
    held = [each.element for each in holder.each() if each.element is not None]
    held += [value for each in holder.each() for value in (each.attributes or {}).values()]
    return join(held) if held else plain()


def _values(call: Call) -> Thing:
    holder = _holder(call)
    return Thing("list", holder.marks, element=_values_of(holder))


def _keys(call: Call) -> Thing:
    return Thing("list", _holder(call).marks, element=plain())


def _items(call: Call) -> Thing:
    holder = _holder(call)
    marks = as_elements(holder.marks)
    pair = Thing(
        "tuple", items=[plain(elements_only(marks)), _values_of(holder).marked(elements_only(marks))]
    )
    return Thing("list", holder.marks, element=pair)


def _set_operation(call: Call) -> Thing:
    holder = _holder(call)
    numeric = holder.numeric and all(arg.numeric for arg in call.args)
    return Thing("set", without_order(total(holder) | call.marks), numeric=numeric)


_METHODS: dict[str, Handler] = {
    **dict.fromkeys(("append", "appendleft", "add", "insert", "put"), _append),
    **dict.fromkeys(("extend", "extendleft", "update"), _extend),
    **dict.fromkeys(("pop", "popleft", "popitem"), _pop),
    **dict.fromkeys(("remove", "discard", "clear", "reverse", "count", "issubset"), _nothing),
    "index": _index,
    "copy": lambda call: _holder(call).copied(),
    "get": _get,
    "setdefault": _setdefault,
    "keys": _keys,
    "values": _values,
    "items": _items,
    "most_common": _keys,
    **dict.fromkeys(("union", "intersection", "difference", "symmetric_difference"), _set_operation),
}


def unknown_container_method(call: Call) -> Thing | None:
    """`x.append(…)` on something that is not known: it holds what it was given."""
    holder = call.receiver
    if holder is None or holder.kind not in ("plain", "object"):
        return None
    holder.mark(frozenset((o, ORDER if m != VALUE else m) for o, m in call.marks) | call.world.control)
    return plain()


METHODS: dict[str, Handler] = dict.fromkeys(
    ("append", "appendleft", "extend", "insert", "put"), unknown_container_method
)
