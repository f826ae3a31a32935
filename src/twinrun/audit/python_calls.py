"""Python's own functions and containers: which of them take an order away, hand it on, or bring it in."""

from __future__ import annotations

from twinrun.audit import calls, expressions, scope
from twinrun.audit.call import Arguments, Call, Handler
from twinrun.audit.container_calls import update_from
from twinrun.audit.containers import element_of, put_in, settled, spill, store
from twinrun.audit.marks import (
    NONE,
    ORDER,
    VALUE,
    Marks,
    as_collection,
    as_name,
    as_value,
    elements_only,
    without_order,
)
from twinrun.audit.outside import is_walk
from twinrun.audit.values import Thing, constant, plain, total

# -- functions ----------------------------------------------------------------------------------------


def _listed(call: Call) -> Thing:
    """`list(x)`, `tuple(x)`, `iter(x)`: the same elements, in the order they come."""
    if not call.args:
        return Thing("list", items=[])
    given = call.args[0]
    if given.kind in ("list", "tuple") and given.items is not None:
        return Thing("list", given.marks, items=list(given.items), numeric=given.numeric)
    made = Thing("list", numeric=given.numeric, items=[])
    put_in(made, calls.iterated(call, given))
    spill(made)
    made.numeric = given.numeric
    made.marks |= as_collection(without_order(given.marks))
    return made


def _sorted(call: Call) -> Thing:
    made = _listed(call)
    spill(made)
    made.forget_order()
    return made


def _set(call: Call) -> Thing:
    if not call.args:
        return Thing("set", items=[])
    given = call.args[0]
    element, _ = settled(element_of(given))
    return Thing("set", without_order(given.marks), element=element, numeric=given.numeric)


def _dict(call: Call) -> Thing:
    made = Thing("dict", call.spread)
    for given in call.args:
        if any(each.kind == "dict" for each in given.each()):
            update_from(made, given)
        else:
            pair = calls.iterated(call, given)
            if pair.items is not None and len(pair.items) == 2:
                store(made, pair.items[0].marked(pair.marks), pair.items[1])
            else:
                made.marks |= as_collection(total(pair))
    for name, value in call.keywords.items():
        made.set_attribute(name, value)
    return made


def _counted(call: Call) -> Thing:
    """`Counter(x)`: a mapping whose order is that in which elements were first met."""
    made = Thing("dict", element=plain(numeric=True))
    if call.args:
        made.marks = as_collection(total(calls.iterated(call, call.args[0])))
    return made


def _enumerate(call: Call) -> Thing:
    if not call.args:
        return Thing("list")
    element = calls.iterated(call, call.args[0])
    place = plain(as_value(elements_only(total(element))), numeric=True)
    pair = Thing("tuple", items=[place, element])
    return Thing("list", as_collection(elements_only(element.marks)), element=pair)


def _zip(call: Call) -> Thing:
    """Pairs what comes in one order with what comes in another: then who is paired with whom varies."""
    elements = [calls.iterated(call, given) for given in call.args]
    places = [elements_only(total(element)) for element in elements]
    together: Marks = NONE.union(*places)
    paired = [
        element if place == together or not together else element.marked(as_value(together - place))
        for element, place in zip(elements, places, strict=True)
    ]
    return Thing("list", as_collection(together), element=Thing("tuple", items=paired))


def _length(call: Call) -> Thing:
    """A length does not vary, except while it grows in a loop over something unordered."""
    given = total(call.args[0]) if call.args else NONE
    active = {origin for loop in call.world.loops for origin in loop.origins}
    grown = frozenset((origin, VALUE) for origin, mode in given if mode == ORDER and origin in active)
    return plain(elements_only(given) | grown, numeric=True)


def _reduced(call: Call) -> Thing:
    """`min`, `max`, `sum`, `any`, `all`: one answer for every order."""
    return plain(without_order(call.marks), numeric=all(arg.numeric for arg in call.args))


def _next(call: Call) -> Thing:
    if not call.args:
        return plain()
    if is_walk(call.args[0]):  # what comes first is always the folder the walk starts from
        return call.args[0].element or plain()
    element = calls.iterated(call, call.args[0])
    return element.marked(as_value(elements_only(element.marks)))


def _map(call: Call) -> Thing:
    made = Thing("list", items=[])
    if len(call.args) >= 2:
        elements = [calls.iterated(call, given) for given in call.args[1:]]
        put_in(made, calls.call_thing(call.world, call.frame, call.node, call.args[0], Arguments(elements)))
        made.marks |= as_collection(NONE.union(*(elements_only(total(element)) for element in elements)))
    spill(made)
    return made


def _filter(call: Call) -> Thing:
    if len(call.args) < 2:
        return plain(call.marks)
    element = calls.iterated(call, call.args[1])
    kept = plain()
    if call.args[0].kind == "function":
        kept = calls.call_thing(call.world, call.frame, call.node, call.args[0], Arguments([element]))
    made = Thing("list", without_order(total(kept)), items=[])
    put_in(made, element)
    spill(made)
    return made


def _number(call: Call) -> Thing:
    return plain(call.marks, numeric=True)


def _text(call: Call) -> Thing:
    return plain(as_value(without_order(call.marks)) | elements_only(call.marks))


def _nothing(call: Call) -> Thing:
    return plain()


def _range(call: Call) -> Thing:
    return Thing("list", without_order(call.marks), element=plain(numeric=True), numeric=True)


def _getattr(call: Call) -> Thing:
    if len(call.args) >= 2 and isinstance(call.args[1].constant, str):
        return expressions.attribute(call.world, call.frame, call.node, call.args[0], call.args[1].constant)
    return plain(call.marks)


def _setattr(call: Call) -> Thing:
    if len(call.args) >= 3 and isinstance(call.args[1].constant, str):
        for each in call.args[0].each():
            each.set_attribute(call.args[1].constant, call.args[2])
    return plain()


def _super(call: Call) -> Thing:
    instance = scope.lookup(call.world, call.frame, "super()")
    owner = scope.lookup(call.world, call.frame, "__class__")
    if instance.kind != "instance" or owner.kind != "class":
        return plain()
    return Thing("super", ref=(instance.ref, owner.ref), bound=instance)


def _partial(call: Call) -> Thing:
    if not call.args:
        return plain()
    return Thing("partial", call.marks, ref=(call.args[0], call.args[1:], dict(call.keywords)))


def _itself(call: Call) -> Thing | None:
    """Wrappers that hand back the function they are given (`tf.function(f)`), or a copy of a value."""
    return call.args[0] if call.args else None


def _copy(call: Call) -> Thing | None:
    return call.args[0].copied() if call.args else None


def _join_text(call: Call) -> Thing | None:
    """`",".join(x)`: the text depends on the order."""
    holder = call.receiver
    if holder is None or not isinstance(holder.constant, str) or len(call.args) != 1:
        return None
    return plain(as_value(total(calls.iterated(call, call.args[0]))))


def _joined_path(call: Call) -> Thing:
    return plain(as_name(call.marks) if len(call.args) > 1 else call.marks)


def _formatted(call: Call) -> Thing | None:
    """`"run-{}".format(x)`."""
    if call.receiver is None or not isinstance(call.receiver.constant, str):
        return None
    return plain(as_name(call.marks))


FUNCTIONS: dict[str, Handler] = {
    "os.path.join": _joined_path,
    **{f"builtins.{name}": _listed for name in ("list", "tuple", "iter", "reversed")},
    "collections.deque": _listed,
    "builtins.sorted": _sorted,
    "builtins.set": _set,
    "builtins.frozenset": _set,
    "builtins.dict": _dict,
    "collections.OrderedDict": _dict,
    "collections.defaultdict": lambda call: Thing("dict"),
    "collections.Counter": _counted,
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.len": _length,
    **{f"builtins.{name}": _reduced for name in ("min", "max", "sum", "any", "all")},
    "builtins.next": _next,
    "builtins.map": _map,
    "builtins.filter": _filter,
    **{
        f"builtins.{name}": _number
        for name in ("int", "float", "abs", "round", "bool", "ord", "pow", "divmod")
    },
    "builtins.str": _text,
    "builtins.repr": _text,
    **{
        f"builtins.{name}": _nothing
        for name in (
            "print",
            "isinstance",
            "issubclass",
            "type",
            "callable",
            "hasattr",
            "id",
            "input",
        )
    },
    "builtins.range": _range,
    "builtins.getattr": _getattr,
    "builtins.setattr": _setattr,
    "builtins.super": _super,
    "functools.partial": _partial,
    "tensorflow.function": _itself,
    "tensorflow.autograph.experimental.do_not_convert": _itself,
    "tensorflow.autograph.to_graph": _itself,
    "functools.lru_cache": _itself,
    "functools.cache": _itself,
    "functools.wraps": lambda call: constant(None),
    "copy.copy": _copy,
    "copy.deepcopy": _copy,
}

METHODS: dict[str, Handler] = {
    "join": _join_text,
    "format": _formatted,
}
