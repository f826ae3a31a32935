"""Calls of values: the program's own functions and classes are followed, the rules know about all others."""

from __future__ import annotations

import ast

from twinrun.source_audit.abstract_values import Arguments, Value, join, plain, total, unknown_argument
from twinrun.source_audit.definitions import Class, Function
from twinrun.source_audit.marks import NONE, Marks
from twinrun.source_audit.state import Frame

_ENTRIES = 16  # how often one function is followed in one program; later calls get the result of the last one


def call_value(frame: Frame, node: ast.AST, callee: Value, given: Arguments) -> Value:
    """Call a value with these arguments."""
    if callee.alternatives:
        return join(call_value(frame, node, each, given) for each in callee.alternatives)
    if callee.kind == "function":
        return enter(frame, node, callee, given)
    if callee.kind == "class":
        return instantiate(frame, node, callee, given)
    if callee.kind == "partial":
        inner, *first = callee.ref
        return call_value(frame, node, inner, given.after(*first))
    if not isinstance(node, ast.Call):
        return plain(callee.marks | given.marks)
    return frame.state.rules.call(frame, node, callee, given)


# -- the program's own functions ----------------------------------------------------------------------


def enter(frame: Frame, node: ast.AST, callee: Value, given: Arguments) -> Value:
    """Follow a call of one of the program's own functions."""
    function: Function = callee.ref
    key = id(function.node)
    if callee.bound is not None:
        given = given.after([callee.bound])
    state = frame.state
    count = state.entered.get(key, 0)
    too_deep = state.active.count(key) > 1 or len(state.active) > state.depth
    if count >= _ENTRIES or too_deep or state.exhausted:
        return state.summaries.get(key, plain()).marked(given.marks)
    state.entered[key] = count + 1
    inside = Frame(state, function.frame.module, {}, function.frame)
    _bind_parameters(inside, function, given)
    if function.owner is not None and given.args and not function.is_static:
        inside.names.setdefault("__class__", Value("class", ref=function.owner))
        inside.names["super()"] = given.args[0]
    with state.during(active=[*state.active, key], loops=[]):
        state.summaries[key] = _run(inside, function)
    return state.summaries[key].marked(callee.marks)


def _run(inside: Frame, function: Function) -> Value:
    if isinstance(function.node, ast.Lambda):
        return inside.evaluate(function.node.body)
    if function.is_generator:
        with inside.state.during(deferring=True):
            inside.execute(function.node.body)
        return Value("generator", element=join(inside.yielded))
    inside.execute(function.node.body)
    return join(inside.returned) if inside.returned else Value(constant=None)


def _bind_parameters(inside: Frame, function: Function, given: Arguments) -> None:
    arguments, names = function.node.args, inside.names
    positional = function.positional
    rest = dict(given.keywords)
    names.update(zip((each.arg for each in positional), given.args, strict=False))
    for parameter in (*positional[len(given.args) :], *arguments.kwonlyargs):
        default = function.defaults.get(parameter.arg) or plain(given.spread)
        names[parameter.arg] = rest.pop(parameter.arg, default)
    if arguments.vararg is not None:
        names[arguments.vararg.arg] = Value("tuple", given.spread, items=given.args[len(positional) :])
    if arguments.kwarg is not None:
        names[arguments.kwarg.arg] = Value("dict", given.spread, attributes=rest or None)


def enter_unknown(frame: Frame, node: ast.AST, callee: Value, marks: Marks = NONE) -> Value:
    """Follow a function that somebody else will call, with arguments that carry these marks."""
    return enter(frame, node, callee, unknown_arguments(callee.ref, callee.bound is not None, marks))


def unknown_arguments(function: Function, bound: bool, marks: Marks = NONE) -> Arguments:
    """An unknown argument for every parameter of a function."""
    parameters = [*function.positional[bound:], *function.node.args.kwonlyargs]
    return Arguments(keywords={parameter.arg: unknown_argument(marks) for parameter in parameters})


# -- the program's own classes ------------------------------------------------------------------------


def instantiate(frame: Frame, node: ast.AST, callee: Value, given: Arguments) -> Value:
    """Make an instance and follow its constructor."""
    made: Class = callee.ref
    instance = Value("instance", ref=made, path=made.name, created=frame.state.tick())
    frame.state.instances[id(made)] = instance
    constructor = made.method("__init__", instance)
    if constructor is not None:
        enter(frame, node, constructor, given)
        return instance
    fields = dict(zip(made.fields, given.args, strict=False)) if made.is_record else {}
    if not made.is_record:
        instance.marks = given.spread.union(*map(total, given.args))
    instance.attributes = {**fields, **given.keywords} or None
    return instance
