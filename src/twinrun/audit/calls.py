"""Calls: into the program's own functions and classes, or out to what the finding families know about."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from twinrun.audit import expressions, families, interpret
from twinrun.audit.call import Arguments, Call
from twinrun.audit.definitions import Class, Function
from twinrun.audit.marks import NONE, Marks
from twinrun.audit.values import Thing, join, plain, total
from twinrun.audit.world import Frame, World

_ENTRIES = 16
"""How often one function is followed in one program; later calls get what the last one gave."""


def call(world: World, frame: Frame, node: ast.Call) -> Thing:
    """Evaluate the callee and the arguments, then call."""
    callee = expressions.evaluate(world, frame, node.func)
    given = Arguments()
    for argument in node.args:
        value = expressions.evaluate(world, frame, argument)
        if not isinstance(argument, ast.Starred):
            given.positional.append(value)
        elif value.items is not None:
            given.positional.extend(item.marked(value.marks) for item in value.items)
        else:
            given.open = True
            given.positional.append(expressions.element_met(world, frame, argument, value))
    for keyword in node.keywords:
        value = expressions.evaluate(world, frame, keyword.value)
        if keyword.arg is not None:
            given.keywords[keyword.arg] = value
            continue
        for name, inner in (value.attributes or {}).items():
            if isinstance(name, str):
                given.keywords[name] = inner
        given.spread |= total(value)
        given.open = given.open or value.kind != "dict" or value.element is not None
    return call_thing(world, frame, node, callee, given)


def call_thing(world: World, frame: Frame, node: ast.AST, callee: Thing, given: Arguments) -> Thing:
    """Call a value with these arguments."""
    if callee.alternatives:
        return join(call_thing(world, frame, node, each, given) for each in callee.alternatives)
    if callee.kind == "function":
        return enter(world, frame, node, callee, given)
    if callee.kind == "class":
        return instantiate(world, frame, node, callee, given)
    if callee.kind == "partial":
        inner, first, keywords = callee.ref
        merged = Arguments(
            [*first, *given.positional], {**keywords, **given.keywords}, given.spread, given.open
        )
        return call_thing(world, frame, node, inner, merged)
    if not isinstance(node, ast.Call):
        return plain(callee.marks | given.marks)
    outgoing = Call(world, frame, node, callee.path, given)
    if callee.kind == "external":
        return families.call_external(outgoing)
    if callee.kind == "member":
        outgoing.receiver = callee.bound
        return families.call_method(outgoing)
    outgoing.receiver = callee
    return families.call_object(outgoing)


# -- the program's own functions ----------------------------------------------------------------------


def enter(world: World, frame: Frame, node: ast.AST, callee: Thing, given: Arguments) -> Thing:
    """Follow a call of one of the program's own functions."""
    function: Function = callee.ref
    key = id(function.node)
    if callee.bound is not None:
        given = given.after(callee.bound)
    count = world.entered.get(key, 0)
    if count >= _ENTRIES or world.active.count(key) > 1 or len(world.active) > world.depth or world.exhausted:
        known = world.summaries.get(key)
        return plain(given.marks) if known is None else known.marked(given.marks)
    world.entered[key] = count + 1
    inside = Frame(function.frame.module, {}, function.frame, function)
    _bind_parameters(inside, function, given)
    if function.owner is not None and given.positional and not function.is_static:
        inside.names.setdefault("__class__", Thing("class", ref=function.owner))
        inside.names["super()"] = given.positional[0]
    result = _run(world, inside, function)
    world.summaries[key] = result
    return result.marked(callee.marks) if callee.marks else result


def _run(world: World, inside: Frame, function: Function) -> Thing:
    key = id(function.node)
    world.active.append(key)
    loops, world.loops = world.loops, []
    try:
        if isinstance(function.node, ast.Lambda):
            return expressions.evaluate(world, inside, function.node.body)
        if function.is_generator:
            with world.deferred():
                interpret.run_block(world, inside, function.node.body)
            return Thing("generator", element=join(inside.yielded), marks=NONE)
        interpret.run_block(world, inside, function.node.body)
        return join(inside.returned) if inside.returned else Thing(constant=None)
    finally:
        world.loops = loops
        world.active.pop()


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
        names[arguments.vararg.arg] = Thing("tuple", given.spread, items=list(values[len(positional) :]))
    for parameter in arguments.kwonlyargs:
        names[parameter.arg] = _parameter(function, parameter.arg, rest, given.spread)
    if arguments.kwarg is not None:
        options = Thing("dict", given.spread)
        for name, value in rest.items():
            options.set_attribute(name, value)
        names[arguments.kwarg.arg] = options


def _parameter(function: Function, name: str, rest: dict[str, Thing], spread: Marks) -> Thing:
    if name in rest:
        return rest.pop(name)
    default = function.defaults.get(name)
    return plain(spread) if default is None else default


def enter_unknown(world: World, frame: Frame, node: ast.AST, callee: Thing, marks: Marks = NONE) -> Thing:
    """Follow a function that somebody else will call, with arguments that carry these marks."""
    function: Function = callee.ref
    arguments = function.node.args
    keywords: dict[str, Thing] = {}
    skip = 1 if callee.bound is not None else 0
    for parameter in [*arguments.posonlyargs, *arguments.args][skip:] + arguments.kwonlyargs:
        given = plain(marks)
        given.sure = "not none"
        keywords[parameter.arg] = given
    return enter(world, frame, node, callee, Arguments(keywords=keywords))


def enter_escaping(call: Call, things: Iterable[Thing], depth: int = 3) -> Marks:
    """Functions handed to someone else may be called by them: follow each, and return what they give."""
    marks: Marks = NONE
    given = call.marks
    for thing in things:
        for each in thing.each():
            if each.kind == "function" and id(each.ref.node) not in call.world.active:
                marks |= total(enter_unknown(call.world, call.frame, call.node, each, given))
            elif each.kind == "partial":
                marks |= enter_escaping(call, [each.ref[0]], depth)
            elif each.kind in ("list", "tuple") and each.items and depth:
                marks |= enter_escaping(call, each.items, depth - 1)
    return marks


# -- the program's own classes ------------------------------------------------------------------------


def instantiate(world: World, frame: Frame, node: ast.AST, callee: Thing, given: Arguments) -> Thing:
    """Make an instance and follow its constructor."""
    made: Class = callee.ref
    instance = Thing("instance", ref=made, path=made.name, born=world.tick())
    world.instances[id(made)] = instance
    constructor = made.find("__init__")
    if constructor is not None and constructor.kind == "function":
        enter(world, frame, node, Thing("function", ref=constructor.ref, bound=instance), given)
        return instance
    if made.is_record:
        for (name, _), value in zip(_fields(made), given.positional, strict=False):
            instance.set_attribute(name, value)
    else:
        instance.marks = given.spread.union(*(total(arg) for arg in given.positional))
    for name, value in given.keywords.items():
        instance.set_attribute(name, value)
    return instance


def _fields(made: Class) -> list[tuple[str, ast.AnnAssign]]:
    return [
        (statement.target.id, statement)
        for statement in made.node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    ]


def iterated(call: Call, thing: Thing) -> Thing:
    """One element of an argument that the callee goes through."""
    return expressions.element_met(call.world, call.frame, call.node, thing)
