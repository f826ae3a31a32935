"""Which rule answers for a call that leaves the program, and what happens when none does.

A call that no rule knows hands on the marks of its arguments, and may call the functions it was given.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import lru_cache

from twinrun.knowledge.functions import REDUCES, SEEDS_EVERYTHING, SORTS, Kind, known, last, root
from twinrun.source_audit.abstract_values import Arguments, Value, join, plain, total
from twinrun.source_audit.marks import Marks, without_order
from twinrun.source_audit.outgoing_call import Call, Handler
from twinrun.source_audit.rules import (
    argparse_options,
    datasets,
    keras_layers,
    outside_world,
    python_builtins,
    randomness,
    threads,
    training,
)
from twinrun.source_audit.state import Frame

_FAMILIES = (
    python_builtins,
    argparse_options,
    randomness,
    keras_layers,
    datasets,
    outside_world,
    threads,
    training,
)
_NUMBERS = frozenset(
    {"arange", "zeros", "ones", "full", "linspace", "eye", "zeros_like", "ones_like", "logspace", "meshgrid"}
)
_NUMERIC_PACKAGES = ("numpy", "tensorflow")

# A family declares its rules by function, by the kind of what is known about the function (and its package, or ""
# for any), by prefix, by the class of the object that a method belongs to, or by the name of the method.
_FUNCTIONS: dict[str, Handler] = {}
_KINDS: dict[tuple[Kind, str], Handler] = {}
_PREFIXES: dict[str, list[tuple[str, Handler]]] = {}
_METHODS: dict[str, list[Handler]] = {}
_TYPES: dict[str, Handler] = {}
for _family in _FAMILIES:
    _FUNCTIONS.update(getattr(_family, "FUNCTIONS", {}))
    _KINDS.update(getattr(_family, "KINDS", {}))
    _TYPES.update(getattr(_family, "TYPES", {}))
    for _prefix, _handler in getattr(_family, "PREFIXES", ()):
        _PREFIXES.setdefault(root(_prefix), []).append((_prefix, _handler))
    for _name, _handler in getattr(_family, "METHODS", {}).items():
        _METHODS.setdefault(_name, []).append(_handler)


@lru_cache(maxsize=20_000)
def _handlers(path: str) -> list[Handler]:
    """The rules for a function, the most special one first."""
    found: list[Handler | None] = [_FUNCTIONS.get(path)]
    about = known(path)
    if about is not None:
        found += [_KINDS.get((about.kind, root(path))), _KINDS.get((about.kind, ""))]
    found += [handler for prefix, handler in _PREFIXES.get(root(path), ()) if path.startswith(prefix)]
    return [handler for handler in found if handler is not None]


def call(frame: Frame, node: ast.Call, callee: Value, given: Arguments) -> Value:
    """A function, method or object that is not the program's own is called."""
    calling = {"external": _call_external, "member": _call_method}.get(callee.kind, _call_object)
    receiver = callee.bound if callee.kind in ("external", "member") else callee
    about = (given.args, given.keywords, given.spread, given.open)
    return calling(Call(*about, frame=frame, node=node, path=callee.path, receiver=receiver or plain()))


def assigned(frame: Frame, target: ast.expr, value: Value, node: ast.stmt) -> None:
    """Something is assigned that may matter beyond the program: a variable of the environment, an option."""
    outside_world.environment_assigned(frame, target, node)
    datasets.options_assigned(frame, target, value, node)


def _call_external(call: Call) -> Value:
    """A function of another library is called."""
    for handler in _handlers(call.path):
        answer = handler(call)
        if answer is not None:
            return answer
    if last(call.path).lower() in SEEDS_EVERYTHING:
        return randomness.seed_all(call)
    return _unknown(call)


def _unknown(call: Call) -> Value:
    _datasets_escape(call)
    marks = call.marks | call.escaping()
    name, package = last(call.path), root(call.path)
    if name in SORTS or (package in _NUMERIC_PACKAGES and name in REDUCES):
        marks = without_order(marks)
    if package in (*_NUMERIC_PACKAGES, "pandas"):  # these iterate over what they are given
        marks = marks.union(*(total(call.iterate(given)) for given in call.args if given.may_be("set")))
    numeric = package == "numpy" and (name in _NUMBERS or call.first.numeric)
    return Value("object", marks, path=_shortened(f"{call.path}()"), numeric=numeric)


def _datasets_escape(call: Call) -> None:
    """A dataset that is passed to something unknown is taken to be trained on there."""
    for each in (each for given in call.everything for each in given.each()):
        if each.kind == "dataset":
            call.state.escaped(each.marks)


def _shortened(path: str) -> str:
    """Names of results of results grow without end in long chains: keep the beginning."""
    return path if len(path) < 120 else path[:100]


def _call_method(call: Call) -> Value:
    receiver = call.receiver
    if receiver.alternatives:
        return join([_call_method(replace(call, receiver=each)) for each in receiver.alternatives])
    if call.path == "sort":
        outside_world.sorted_in_place(receiver)
        return plain()
    if receiver.kind == "dataset":
        return datasets.dataset_method(call)
    handlers: list[Handler] = []
    if receiver.kind in ("list", "tuple", "set", "dict", "generator"):
        handlers.append(python_builtins.container_method)
    if receiver.kind == "object" and receiver.path in _TYPES:
        handlers.append(_TYPES[receiver.path])
    handlers += [_super_method] if receiver.kind == "super" else _METHODS.get(call.path, ())
    for handler in handlers:
        answer = handler(call)
        if answer is not None:
            return answer
    return _unknown_method(call)


def _super_method(call: Call) -> Value:
    """A method of an ancestor that is not the program's own."""
    instance = call.receiver.bound
    if instance is None:
        return plain(call.marks)
    if call.path == "__init__":
        for name, value in call.keywords.items():
            if instance.attribute(name) is None:
                instance.set_attribute(name, value)
        return plain()
    call.receiver = instance
    return _call_method(call)


def _unknown_method(call: Call) -> Value:
    receiver = call.receiver
    _datasets_escape(call)
    if receiver.kind == "plain":
        call.state.unknown_methods.add(call.path)
    marks = (
        call.marks | call.escaping() | (total(receiver) if receiver.kind != "instance" else receiver.marks)
    )
    of_numbers = receiver.kind == "object" and root(receiver.path) in _NUMERIC_PACKAGES
    if call.path in SORTS or (of_numbers and call.path in REDUCES):
        marks = without_order(marks)
    path = _shortened(f"{receiver.path}.{call.path}()") if receiver.path else ""
    if receiver.kind == "external":
        return Value("object", marks, path=path)
    return Value("object" if path else "plain", marks, path=path, numeric=receiver.numeric)


def _call_object(call: Call) -> Value:
    """A value is called: a layer, a model, an instance with `__call__`, or something unknown."""
    receiver = call.receiver
    if receiver.kind == "instance":
        return _call_instance(call)
    if keras_layers.is_keras(receiver):
        return keras_layers.call_layer(call)
    marks = total(receiver) | call.marks | call.escaping()
    call.state.escaped(call.marks)
    return plain(marks)


def _call_instance(call: Call) -> Value:
    receiver, marks = call.receiver, call.marks
    is_keras = keras_layers.is_keras(receiver)
    build = receiver.ref.method("build", receiver) if is_keras else None
    if build is not None and id(build.ref.node) not in call.state.entered:
        call.enter_unknown(build)
    for name in ("__call__", "call", "forward"):
        method = receiver.ref.method(name, receiver)
        if method is not None:
            own: Marks = total(receiver) if is_keras else receiver.marks
            return call.invoke(method, call).marked(marks | own)
    return keras_layers.call_layer(call) if is_keras else plain(marks | total(receiver))
