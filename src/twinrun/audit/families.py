"""Who answers for a call that leaves the program: the finding families, in one table each way.

A call nobody answers for hands on the marks of its arguments, and may call the functions it was given.
"""

from __future__ import annotations

from twinrun.audit import (
    calls,
    command_line,
    container_calls,
    dataset_sources,
    distributed,
    host_functions,
    keras_layers,
    libraries,
    outside,
    pipeline,
    python_calls,
    randomness,
    reach,
    threads,
)
from twinrun.audit.call import Call, Handler
from twinrun.audit.marks import without_order
from twinrun.audit.names import last, root
from twinrun.audit.values import Thing, join, plain, total

_FAMILIES = (
    python_calls,
    container_calls,
    command_line,
    randomness,
    keras_layers,
    dataset_sources,
    pipeline,
    host_functions,
    outside,
    distributed,
    libraries,
    threads,
    reach,
)

_FUNCTIONS: dict[str, Handler] = {}
_PREFIXES: dict[str, list[tuple[str, Handler]]] = {}
_METHODS: dict[str, list[Handler]] = {}
_TYPES: dict[str, Handler] = {}
for _family in _FAMILIES:
    _FUNCTIONS.update(getattr(_family, "FUNCTIONS", {}))
    _TYPES.update(getattr(_family, "TYPES", {}))
    for _prefix, _handler in getattr(_family, "PREFIXES", ()):
        _PREFIXES.setdefault(root(_prefix), []).append((_prefix, _handler))
    for _name, _handler in getattr(_family, "METHODS", {}).items():
        _METHODS.setdefault(_name, []).append(_handler)

# Sorting and reducing take an order away, whichever library does it.
_SORTS = frozenset({"sort", "sorted", "natsorted", "os_sorted", "sort_values", "sort_index", "lexsort"})
_REDUCES = frozenset(
    {
        "unique",
        "sum",
        "mean",
        "std",
        "var",
        "max",
        "min",
        "median",
        "prod",
        "bincount",
        "count_nonzero",
        "any",
        "all",
    }
)
_NUMBERS = frozenset(
    {"arange", "zeros", "ones", "full", "linspace", "eye", "zeros_like", "ones_like", "logspace", "meshgrid"}
)


def call_external(call: Call) -> Thing:
    """A function of somebody else, by its dotted name."""
    handler = _FUNCTIONS.get(call.path)
    if handler is not None:
        answer = handler(call)
        if answer is not None:
            return answer
    for prefix, prefix_handler in _PREFIXES.get(root(call.path), ()):
        if call.path.startswith(prefix):
            answer = prefix_handler(call)
            if answer is not None:
                return answer
    if randomness.looks_like_seeding(call.path):
        return randomness.seed_all(call)
    return _unknown(call)


def _handed_out(call: Call) -> None:
    """A dataset given to something unknown is taken to be trained on there."""
    for given in call.everything:
        for each in given.each():
            if each.kind == "dataset":
                call.world.escaped(each.marks)


def _unknown(call: Call) -> Thing:
    _handed_out(call)
    marks = call.marks | calls.enter_escaping(call, call.everything)
    name, package = last(call.path), root(call.path)
    if name in _SORTS or (package in ("numpy", "tensorflow") and name in _REDUCES):
        marks = without_order(marks)
    numeric = package == "numpy" and (name in _NUMBERS or (bool(call.args) and call.args[0].numeric))
    if package in ("numpy", "tensorflow", "pandas"):  # these go through what they are given
        for given in call.args:
            if any(each.kind == "set" for each in given.each()):
                marks |= total(calls.iterated(call, given))
    return Thing("object", marks, path=_grown(f"{call.path}()"), numeric=numeric)


def _grown(path: str) -> str:
    """Names of results of results grow without end in long chains: keep the beginning."""
    return path if len(path) < 120 else path[:100]


def call_method(call: Call) -> Thing:
    """A method of a value."""
    receiver = call.receiver if call.receiver is not None else plain()
    if receiver.alternatives:
        return join([_on(call, each) for each in receiver.alternatives])
    return _on(call, receiver)


def _on(call: Call, receiver: Thing) -> Thing:
    call.receiver = receiver
    if call.path == "sort":
        outside.sorted_in_place(receiver)
        return plain()
    if receiver.kind == "dataset":
        return pipeline.dataset_method(call)
    if receiver.kind in ("list", "tuple", "set", "dict", "generator"):
        answer = container_calls.container_method(call)
        if answer is not None:
            return answer
    typed = _TYPES.get(receiver.path) if receiver.kind == "object" else None
    if typed is not None:
        answer = typed(call)
        if answer is not None:
            return answer
    if receiver.kind == "super":
        return _on_super(call, receiver)
    for handler in _METHODS.get(call.path, ()):
        answer = handler(call)
        if answer is not None:
            return answer
    return _unknown_method(call, receiver)


def _on_super(call: Call, receiver: Thing) -> Thing:
    """A method of an ancestor that is not the program's own."""
    instance = receiver.bound
    if instance is None:
        return plain(call.marks)
    if call.path == "__init__":
        for name, value in call.keywords.items():
            if instance.attribute(name) is None:
                instance.set_attribute(name, value)
        return plain()
    call.receiver = instance
    return _on(call, instance)


def _unknown_method(call: Call, receiver: Thing) -> Thing:
    _handed_out(call)
    if receiver.kind == "plain":
        call.world.unknown_methods.add(call.path)
    own = total(receiver) if receiver.kind != "instance" else receiver.marks
    marks = own | call.marks | calls.enter_escaping(call, call.everything)
    if call.path in _SORTS:
        marks = without_order(marks)
    if call.path in _REDUCES and receiver.kind == "object" and root(receiver.path) in ("numpy", "tensorflow"):
        marks = without_order(marks)
    if receiver.kind == "external":
        return Thing("object", marks, path=_grown(f"{receiver.path}.{call.path}()"))
    path = _grown(f"{receiver.path}.{call.path}()") if receiver.path else ""
    return Thing("object" if path else "plain", marks, path=path, numeric=receiver.numeric)


def call_object(call: Call) -> Thing:
    """A value is called: a layer, a model, an instance with `__call__`, or something unknown."""
    receiver = call.receiver if call.receiver is not None else plain()
    if receiver.kind == "instance":
        return _call_instance(call, receiver)
    if keras_layers.is_keras(receiver):
        return keras_layers.call_layer(call)
    marks = total(receiver) | call.marks | calls.enter_escaping(call, call.everything)
    call.world.escaped(call.marks)
    return plain(marks)


def _call_instance(call: Call, receiver: Thing) -> Thing:
    marks = call.marks
    build = receiver.ref.find("build") if keras_layers.is_keras(receiver) else None
    if build is not None and build.kind == "function" and id(build.ref.node) not in call.world.entered:
        bound = Thing("function", ref=build.ref, bound=receiver)
        calls.enter_unknown(call.world, call.frame, call.node, bound)
    for name in ("__call__", "call", "forward"):
        method = receiver.ref.find(name)
        if method is not None and method.kind == "function":
            bound = Thing("function", ref=method.ref, bound=receiver)
            result = calls.enter(call.world, call.frame, call.node, bound, call.arguments)
            marks |= total(receiver) if keras_layers.is_keras(receiver) else receiver.marks
            return result.marked(marks)
    if keras_layers.is_keras(receiver):
        return keras_layers.call_layer(call)
    return plain(marks | total(receiver))
