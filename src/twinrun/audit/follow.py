"""Follows one program from its first statement to its last, or the functions of files that others call."""

from __future__ import annotations

import ast

from twinrun.audit import calls, scope
from twinrun.audit.call import Arguments
from twinrun.audit.definitions import Class, Function
from twinrun.audit.marks import NONE
from twinrun.audit.program import Module, Problem, Sources
from twinrun.audit.values import Thing, plain
from twinrun.audit.world import LIBRARY_BUDGET, Frame, World
from twinrun.audit.worth import may_bring_in, names_that_vary

_ROUNDS = 4
"""A function that is followed may define others: so often are those looked for."""


def follow_program(sources: Sources, entry: Module, arguments: tuple[str, ...] | None = None) -> World:
    """Execute a script from its first statement to its last, in the order Python would."""
    world = World(sources, sources.roots(entry), entry=entry, arguments=arguments)
    try:
        frame = scope.module_frame(world, entry)
        for _ in range(_ROUNDS):
            if not _enter_lost(world, frame):
                break
    except RecursionError:
        world.problems.append(Problem(entry.shown, "too deeply nested to follow"))
    except Exception as error:  # our mistake, and no reason to lose what other files have to say
        world.problems.append(_own_mistake(entry, error))
    world.settle()
    if world.exhausted:
        world.problems.append(Problem(entry.shown, "too large to follow to its end: findings may be missing"))
    return world


def follow_library(sources: Sources, module: Module, world: World | None = None) -> World:
    """Follow every function and class of a file that others call, each on its own.

    Streams may have been seeded by the caller, so only what is wrong whoever calls it can be found.
    """
    world = world or World(sources, sources.roots(module), library=True)
    world.roots = sources.roots(module)
    world.limit = world.work + LIBRARY_BUDGET
    try:
        frame = scope.module_frame(world, module)
        names = names_that_vary(sources, module)
        for function in _roots(world, module):
            made = function.owner
            if not may_bring_in(module, function.node if made is None else made.node, names):
                continue
            world.start_root()
            if made is None:
                _enter(world, frame, function)
                world.settle()
                continue
            for method in made.methods():
                if id(method.node) not in world.entered:
                    _enter(world, frame, method)
            world.settle()
    except RecursionError:
        world.problems.append(Problem(module.shown, "too deeply nested to follow"))
    except Exception as error:
        world.problems.append(_own_mistake(module, error))
    world.settle()
    world.active.clear()
    world.collectors.clear()
    world.loops.clear()
    world.repeats.clear()
    world.control = NONE
    return world


def _own_mistake(module: Module, error: Exception) -> Problem:
    return Problem(module.shown, f"the audit itself failed here, please report it: {error!r}")


def _roots(world: World, module: Module) -> list[Function]:
    """The functions of a module, and one method for each of its classes."""
    found: dict[int, Function] = {}
    for function in world.functions.get(id(module), {}).values():
        key = id(function.owner.node) if function.owner is not None else id(function.node)
        if not isinstance(function.node, ast.Lambda):
            found.setdefault(key, function)
    return list(found.values())


def _enter_lost(world: World, frame: Frame) -> bool:
    """Functions that live code mentions but whose calls could not be followed (a lookup by name)."""
    before = len(world.entered)
    for function in [each for module in world.functions.values() for each in module.values()]:
        if id(function.node) in world.entered or world.exhausted:
            continue
        mentioned = id(function.node) in world.loaded
        if mentioned if function.owner is None else function.name in world.unknown_methods:
            _enter(world, frame, function)
    return len(world.entered) > before


def _enter(world: World, frame: Frame, function: Function) -> None:
    bound = None
    if function.owner is not None and not function.is_static:
        bound = _instance(world, frame, function.owner)
        if id(function.node) in world.entered:  # making the instance has entered it
            return
    callee = Thing("function", ref=function, bound=bound)
    calls.enter_unknown(world, frame, function.node, callee)


def _instance(world: World, frame: Frame, made: Class) -> Thing:
    known = world.instances.get(id(made))
    if known is None:
        known = calls.instantiate(world, frame, made.node, Thing("class", ref=made), _unknown_arguments(made))
        world.instances[id(made)] = known
    return known


def _unknown_arguments(made: Class) -> Arguments:
    constructor = made.find("__init__")
    keywords: dict[str, Thing] = {}
    if constructor is not None and constructor.kind == "function":
        arguments = constructor.ref.node.args
        for parameter in [*arguments.posonlyargs, *arguments.args][1:] + arguments.kwonlyargs:
            given = plain()
            given.sure = "not none"
            keywords[parameter.arg] = given
    return Arguments(keywords=keywords)
