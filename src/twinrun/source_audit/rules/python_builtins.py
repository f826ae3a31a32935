"""Python's own functions, and the methods of its containers: which take an order away, hand it on, or bring it in."""

from __future__ import annotations

from twinrun.knowledge.functions import SET_METHODS
from twinrun.source_audit import containers, scopes
from twinrun.source_audit.abstract_values import Arguments, Value, constant, join, plain, total
from twinrun.source_audit.containers import collection_of, put_in, spill, store, update_from
from twinrun.source_audit.expressions import attribute
from twinrun.source_audit.marks import (
    NONE,
    ORDER,
    VALUE,
    Marks,
    as_collection,
    as_elements,
    as_name,
    as_value,
    elements_only,
    without_order,
)
from twinrun.source_audit.outgoing_call import Call, Handler
from twinrun.source_audit.rules.outside_world import is_walk


def _listed(call: Call) -> Value:
    """`list(x)`, `tuple(x)`, `iter(x)`: the same elements, in the order they come."""
    given = call.first if call.args else Value("list", items=[])
    if given.kind in ("list", "tuple") and given.items is not None:
        return Value("list", given.marks, items=list(given.items), numeric=given.numeric)
    made = collection_of(call.iterate(given))
    made.numeric = given.numeric
    made.marks |= as_collection(without_order(given.marks))
    return made


def _sorted(call: Call) -> Value:
    made = _listed(call)
    spill(made)
    made.forget_order()
    return made


def _set(call: Call) -> Value:
    if not call.args:
        return Value("set", items=[])
    given = call.first
    element, _ = containers.settled(containers.element_of(given))
    return Value("set", without_order(given.marks), element=element, numeric=given.numeric)


def _dict(call: Call) -> Value:
    made = Value("dict", call.spread)
    for given in call.args:
        if given.may_be("dict"):
            update_from(made, given)
            continue
        pair = call.iterate(given)
        if pair.items is not None and len(pair.items) == 2:
            store(made, pair.items[0].marked(pair.marks), pair.items[1])
        else:
            made.marks |= as_collection(total(pair))
    for name, value in call.keywords.items():
        made.set_attribute(name, value)
    return made


def _counted(call: Call) -> Value:
    """`Counter(x)`: a mapping in the order in which its elements first come."""
    made = Value("dict", element=plain(numeric=True))
    if call.args:
        made.marks = as_collection(total(call.iterate(call.first)))
    return made


def _enumerate(call: Call) -> Value:
    if not call.args:
        return Value("list")
    element = call.iterate(call.first)
    place = plain(as_value(elements_only(total(element))), numeric=True)
    pair = Value("tuple", items=[place, element])
    return Value("list", as_collection(elements_only(element.marks)), element=pair)


def _zip(call: Call) -> Value:
    """Pairs what comes in one order with what comes in another: then who is paired with whom varies."""
    elements = [call.iterate(given) for given in call.args]
    places = [elements_only(total(element)) for element in elements]
    together: Marks = NONE.union(*places)
    by_place = zip(elements, places, strict=True)
    paired = [element.marked(as_value(together - place)) for element, place in by_place]
    return Value("list", as_collection(together), element=Value("tuple", items=paired))


def _length(call: Call) -> Value:
    """A length does not vary, except while it grows in a loop over something unordered."""
    given = total(call.first) if call.args else NONE
    active = {origin for loop in call.state.loops for origin in loop.origins}
    grown = frozenset((origin, VALUE) for origin, mode in given if mode == ORDER and origin in active)
    return plain(elements_only(given) | grown, numeric=True)


def _reduced(call: Call) -> Value:
    """`min`, `max`, `sum`, `any`, `all`: one answer for every order."""
    return plain(without_order(call.marks), numeric=all(arg.numeric for arg in call.args))


def _next(call: Call) -> Value:
    if is_walk(call.first):  # what comes first is always the folder the walk starts from
        return call.first.element or plain()
    element = call.iterate(call.first)
    return element.marked(as_value(elements_only(element.marks)))


def _map(call: Call) -> Value:
    elements = [call.iterate(given) for given in call.args[1:]]
    if not elements:
        return Value("list")
    order = as_collection(NONE.union(*(elements_only(total(element)) for element in elements)))
    return collection_of(call.invoke(call.first, Arguments(elements)), marks=order)


def _filter(call: Call) -> Value:
    if len(call.args) < 2:
        return plain(call.marks)
    element = call.iterate(call.args[1])
    kept = call.invoke(call.first, Arguments([element])) if call.first.kind == "function" else plain()
    return collection_of(element, marks=without_order(total(kept)))


def _number(call: Call) -> Value:
    return plain(call.marks, numeric=True)


def _text(call: Call) -> Value:
    return plain(as_value(without_order(call.marks)) | elements_only(call.marks))


def _range(call: Call) -> Value:
    return Value("list", without_order(call.marks), element=plain(numeric=True), numeric=True)


def _getattr(call: Call) -> Value:
    if len(call.args) >= 2 and isinstance(call.args[1].constant, str):
        return attribute(call.frame, call.node, call.first, call.args[1].constant)
    return plain(call.marks)


def _setattr(call: Call) -> Value:
    if len(call.args) >= 3 and isinstance(call.args[1].constant, str):
        for each in call.first.each():
            each.set_attribute(call.args[1].constant, call.args[2])
    return plain()


def _super(call: Call) -> Value:
    instance = scopes.lookup(call.frame, "super()")
    owner = scopes.lookup(call.frame, "__class__")
    if instance.kind != "instance" or owner.kind != "class":
        return plain()
    return Value("super", ref=(instance.ref, owner.ref), bound=instance)


def _partial(call: Call) -> Value:
    return Value("partial", call.marks, ref=(call.first, call.args[1:], call.keywords))


def _itself(call: Call) -> Value | None:
    """Wrappers that hand back the function they are given (`tf.function(f)`), or a copy of a value."""
    return call.first if call.args else None


def _join_text(call: Call) -> Value | None:
    """`",".join(x)`: the text depends on the order."""
    if not isinstance(call.receiver.constant, str) or len(call.args) != 1:
        return None
    return plain(as_value(total(call.iterate(call.first))))


def _joined_path(call: Call) -> Value:
    return plain(as_name(call.marks) if len(call.args) > 1 else call.marks)


def _formatted(call: Call) -> Value | None:
    """`"run-{}".format(x)`."""
    return plain(as_name(call.marks)) if isinstance(call.receiver.constant, str) else None


# -- methods of containers ------------------------------------------------------------------------------


def container_method(call: Call) -> Value | None:
    """A method of a list, tuple, set, dict or generator."""
    handler = _OF_CONTAINERS.get(call.path)
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
    found = join(containers.at(each, call.first) for each in call.receiver.each())
    return join((found, call.args[1])) if len(call.args) > 1 else found


def _setdefault(call: Call) -> Value:
    if len(call.args) == 2:
        store(call.receiver, call.args[0], call.args[1])
    return _get(call)


def _held(holder: Value) -> Value:
    return join(value for each in holder.each() for value in each.held)


def _items(call: Call) -> Value:
    holder = call.receiver
    places = elements_only(as_elements(holder.marks))
    pair = Value("tuple", items=[plain(places), _held(holder).marked(places)])
    return Value("list", holder.marks, element=pair)


def _set_operation(call: Call) -> Value:
    holder = call.receiver
    numeric = holder.numeric and all(arg.numeric for arg in call.args)
    return Value("set", without_order(total(holder) | call.marks), numeric=numeric)


def _unknown_container_method(call: Call) -> Value | None:
    """`x.append(…)` on something that is not known: it holds what it was given."""
    holder = call.receiver
    if holder.kind not in ("plain", "object"):
        return None
    holder.mark(frozenset((o, ORDER if m != VALUE else m) for o, m in call.marks) | call.state.control)
    return plain()


_OF_CONTAINERS: dict[str, Handler] = {
    **dict.fromkeys(("append", "appendleft", "add", "insert", "put"), _append),
    **dict.fromkeys(("extend", "extendleft", "update"), _extend),
    **dict.fromkeys(("pop", "popleft", "popitem"), _pop),
    **dict.fromkeys(("remove", "discard", "clear", "reverse", "count", "issubset"), lambda call: plain()),
    "index": _index,
    "copy": lambda call: call.receiver.copied(),
    "get": _get,
    "setdefault": _setdefault,
    **dict.fromkeys(
        ("keys", "most_common"), lambda call: Value("list", call.receiver.marks, element=plain())
    ),
    "values": lambda call: Value("list", call.receiver.marks, element=_held(call.receiver)),
    "items": _items,
    **dict.fromkeys(SET_METHODS, _set_operation),
}


def _builtins(names: str, handler: Handler) -> dict[str, Handler]:
    return {f"builtins.{name}": handler for name in names.split()}


FUNCTIONS: dict[str, Handler] = {
    **_builtins("list tuple iter reversed", _listed),
    **_builtins("sorted", _sorted),
    **_builtins("set frozenset", _set),
    **_builtins("dict", _dict),
    **_builtins("enumerate", _enumerate),
    **_builtins("zip", _zip),
    **_builtins("len", _length),
    **_builtins("min max sum any all", _reduced),
    **_builtins("next", _next),
    **_builtins("map", _map),
    **_builtins("filter", _filter),
    **_builtins("int float abs round bool ord pow divmod", _number),
    **_builtins("str repr", _text),
    **_builtins("print isinstance issubclass type callable hasattr id input", lambda call: plain()),
    **_builtins("range", _range),
    **_builtins("getattr", _getattr),
    **_builtins("setattr", _setattr),
    **_builtins("super", _super),
    "os.path.join": _joined_path,
    "collections.deque": _listed,
    "collections.OrderedDict": _dict,
    "collections.defaultdict": lambda call: Value("dict"),
    "collections.Counter": _counted,
    "functools.partial": _partial,
    "functools.wraps": lambda call: constant(None),
    **dict.fromkeys(("tensorflow.function", "functools.lru_cache", "functools.cache"), _itself),
    "tensorflow.autograph.experimental.do_not_convert": _itself,
    "tensorflow.autograph.to_graph": _itself,
    **dict.fromkeys(("copy.copy", "copy.deepcopy"), lambda call: call.first.copied()),
}
METHODS: dict[str, Handler] = {
    "join": _join_text,
    "format": _formatted,
    **dict.fromkeys(("append", "appendleft", "extend", "insert", "put"), _unknown_container_method),
}
