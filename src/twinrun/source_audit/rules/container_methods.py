"""Methods of lists, sets, dictionaries and queues of Python's own."""

from __future__ import annotations

from twinrun.knowledge.functions import SET_METHODS
from twinrun.source_audit.abstract_values import Value, join, plain, total
from twinrun.source_audit.containers import at, put_in, spill, store, update_from
from twinrun.source_audit.marks import ORDER, VALUE, as_elements, as_value, elements_only, without_order
from twinrun.source_audit.outgoing_call import Call, Handler


def container_method(call: Call) -> Value | None:
    """A method of a list, tuple, set, dict or generator."""
    handler = _METHODS.get(call.path)
    return handler(call) if handler is not None else None


def _append(call: Call) -> Value:
    if call.args:
        put_in(call.receiver, call.args[-1])
        call.receiver.mark(call.state.control)
    return plain()


def _extend(call: Call) -> Value:
    holder = call.receiver
    for given in call.args:
        if holder.may_be("dict"):
            update_from(holder, given)
            continue
        for each in holder.each():
            spill(each)
        put_in(holder, call.iterate(given))
        holder.mark(without_order(given.marks) | call.state.control)
    return plain()


def _pop(call: Call) -> Value:
    """Picks by position; of a set, whichever comes first."""
    holder = call.receiver
    if holder.kind == "dict":
        return _get(call)
    element = call.iterate(holder)
    return element.marked(as_value(elements_only(element.marks)))


def _index(call: Call) -> Value:
    """The place of something in an order."""
    return plain(as_value(call.receiver.marks) | call.marks, numeric=True)


def _get(call: Call) -> Value:
    found = join(at(each, call.first) for each in call.receiver.each())
    return join((found, call.args[1])) if len(call.args) > 1 else found


def _setdefault(call: Call) -> Value:
    if len(call.args) == 2:
        store(call.receiver, call.args[0], call.args[1])
    return _get(call)


def _values_of(holder: Value) -> Value:
    return join(value for each in holder.each() for value in each.held)


def _values(call: Call) -> Value:
    return Value("list", call.receiver.marks, element=_values_of(call.receiver))


def _keys(call: Call) -> Value:
    return Value("list", call.receiver.marks, element=plain())


def _items(call: Call) -> Value:
    holder = call.receiver
    places = elements_only(as_elements(holder.marks))
    pair = Value("tuple", items=[plain(places), _values_of(holder).marked(places)])
    return Value("list", holder.marks, element=pair)


def _set_operation(call: Call) -> Value:
    holder = call.receiver
    numeric = holder.numeric and all(arg.numeric for arg in call.args)
    return Value("set", without_order(total(holder) | call.marks), numeric=numeric)


_METHODS: dict[str, Handler] = {
    **dict.fromkeys(("append", "appendleft", "add", "insert", "put"), _append),
    **dict.fromkeys(("extend", "extendleft", "update"), _extend),
    **dict.fromkeys(("pop", "popleft", "popitem"), _pop),
    **dict.fromkeys(("remove", "discard", "clear", "reverse", "count", "issubset"), lambda call: plain()),
    "index": _index,
    "copy": lambda call: call.receiver.copied(),
    "get": _get,
    "setdefault": _setdefault,
    "keys": _keys,
    "values": _values,
    "items": _items,
    "most_common": _keys,
    **dict.fromkeys(SET_METHODS, _set_operation),
}


def _unknown_container_method(call: Call) -> Value | None:
    """`x.append(…)` on something that is not known: it holds what it was given."""
    holder = call.receiver
    if holder.kind not in ("plain", "object"):
        return None
    holder.mark(frozenset((o, ORDER if m != VALUE else m) for o, m in call.marks) | call.state.control)
    return plain()


METHODS: dict[str, Handler] = dict.fromkeys(
    ("append", "appendleft", "extend", "insert", "put"), _unknown_container_method
)
