"""Calls: into the program's own functions and classes, or out to other libraries, which the rules know about."""

from __future__ import annotations

import ast

from twinrun.source_audit import expressions, statements
from twinrun.source_audit.abstract_values import Arguments, Value, join, plain, total, unknown_argument
from twinrun.source_audit.definitions import Class, Function
from twinrun.source_audit.marks import NONE, Marks
from twinrun.source_audit.state import Frame

_ENTRIES = 16
"""How often one function is followed in one program; later calls get the result of the last one."""


def call(frame: Frame, node: ast.Call) -> Value:
    """Evaluate the callee and the arguments, then call."""
    callee = expressions.evaluate(frame, node.func)
    given = Arguments()
    for argument in node.args:
        value = expressions.evaluate(frame, argument)
        if not isinstance(argument, ast.Starred):
            given.positional.append(value)
        elif value.items is not None:
            given.positional.extend(item.marked(value.marks) for item in value.items)
        else:
            given.open = True
            given.positional.append(expressions.iterate(frame, argument, value))
    for keyword in node.keywords:
        value = expressions.evaluate(frame, keyword.value)
        if keyword.arg is not None:
            given.keywords[keyword.arg] = value
            continue
        for name, inner in (value.attributes or {}).items():
            if isinstance(name, str):
                given.keywords[name] = inner
        given.spread |= total(value)
        given.open = given.open or value.kind != "dict" or value.element is not None
    return call_value(frame, node, callee, given)


def call_value(frame: Frame, node: ast.AST, callee: Value, given: Arguments) -> Value:
    """Call a value with these arguments."""
    if callee.alternatives:
        return join(call_value(frame, node, each, given) for each in callee.alternatives)
    if callee.kind == "function":
        return enter(frame, node, callee, given)
    if callee.kind == "class":
        return instantiate(frame, node, callee, given)
    if callee.kind == "partial":
        inner, first, keywords = callee.ref
        merged = Arguments(
            [*first, *given.positional], {**keywords, **given.keywords}, given.spread, given.open
        )
        return call_value(frame, node, inner, merged)
    if not isinstance(node, ast.Call):
        return plain(callee.marks | given.marks)
    return frame.state.rules.call(frame, node, callee, given)


# -- the program's own functions ----------------------------------------------------------------------


def enter(frame: Frame, node: ast.AST, callee: Value, given: Arguments) -> Value:
    """Follow a call of one of the program's own functions."""
    function: Function = callee.ref
    key = id(function.node)
    if callee.bound is not None:
        given = given.after(callee.bound)
    state = frame.state
    count = state.entered.get(key, 0)
    too_deep = state.active.count(key) > 1 or len(state.active) > state.depth
    if count >= _ENTRIES or too_deep or state.exhausted:
        known = state.summaries.get(key)
        return plain(given.marks) if known is None else known.marked(given.marks)
    state.entered[key] = count + 1
    inside = Frame(state, function.frame.module, {}, function.frame)
    _bind_parameters(inside, function, given)
    if function.owner is not None and given.positional and not function.is_static:
        inside.names.setdefault("__class__", Value("class", ref=function.owner))
        inside.names["super()"] = given.positional[0]
    result = _run(inside, function)
    state.summaries[key] = result
    return result.marked(callee.marks)


def _run(inside: Frame, function: Function) -> Value:
    state, node = inside.state, function.node
    state.active.append(id(node))
    loops, state.loops = state.loops, []
    try:
        if isinstance(node, ast.Lambda):
            return expressions.evaluate(inside, node.body)
        if function.is_generator:
            with state.deferred():
                statements.run_block(inside, node.body)
            return Value("generator", element=join(inside.yielded))
        statements.run_block(inside, node.body)
        return join(inside.returned) if inside.returned else Value(constant=None)
    finally:
        state.loops = loops
        state.active.pop()


def _bind_parameters(inside: Frame, function: Function, given: Arguments) -> None:
    arguments = function.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    names, values = inside.names, given.positional
    rest = dict(given.keywords)
    for position, parameter in enumerate(positional):
        if position < len(values):
            names[parameter.arg] = values[position]
        else:
            names[parameter.arg] = _parameter(function, parameter.arg, rest, given.spread)
    if arguments.vararg is not None:
        names[arguments.vararg.arg] = Value("tuple", given.spread, items=list(values[len(positional) :]))
    for parameter in arguments.kwonlyargs:
        names[parameter.arg] = _parameter(function, parameter.arg, rest, given.spread)
    if arguments.kwarg is not None:
        options = Value("dict", given.spread)
        for name, value in rest.items():
            options.set_attribute(name, value)
        names[arguments.kwarg.arg] = options


def _parameter(function: Function, name: str, rest: dict[str, Value], spread: Marks) -> Value:
    if name in rest:
        return rest.pop(name)
    default = function.defaults.get(name)
    return plain(spread) if default is None else default


def enter_unknown(frame: Frame, node: ast.AST, callee: Value, marks: Marks = NONE) -> Value:
    """Follow a function that somebody else will call, with arguments that carry these marks."""
    given = unknown_arguments(callee.ref, bound=callee.bound is not None, marks=marks)
    return enter(frame, node, callee, given)


def unknown_arguments(function: Function, *, bound: bool, marks: Marks = NONE) -> Arguments:
    """An unknown argument for every parameter of a function."""
    arguments = function.node.args
    names = [*arguments.posonlyargs, *arguments.args][bound:] + arguments.kwonlyargs
    return Arguments(keywords={parameter.arg: unknown_argument(marks) for parameter in names})


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
    if made.is_record:
        for name, value in zip(made.fields, given.positional, strict=False):
            instance.set_attribute(name, value)
    else:
        instance.marks = given.spread.union(*(total(arg) for arg in given.positional))
    for name, value in given.keywords.items():
        instance.set_attribute(name, value)
    return instance
