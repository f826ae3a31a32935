"""Follows one program from its first statement to its last, or the functions of files that others call."""

from __future__ import annotations

import ast

from twinrun.audit import calls, scope
from twinrun.audit.call import Arguments
from twinrun.audit.definitions import Class, Function
from twinrun.audit.program import Module, Problem, Sources, roots_of
from twinrun.audit.values import Thing, plain
from twinrun.audit.world import LIBRARY_BUDGET, Frame, World

_ROUNDS = 4
"""A function that is followed may define others: so often are those looked for."""


def follow_program(sources: Sources, entry: Module, arguments: tuple[str, ...] | None = None) -> World:
    """Execute a script from its first statement to its last, in the order Python would."""
    world = World(sources, roots_of(entry.path), entry=entry, arguments=arguments)
    try:
        frame = scope.module_frame(world, entry)
        for _ in range(_ROUNDS):
            if not _enter_lost(world, frame):
                break
    except RecursionError:
        world.problems.append(Problem(entry.shown, "too deeply nested to follow"))
    world.settle()
    if world.exhausted:
        world.problems.append(Problem(entry.shown, "too large to follow to its end: findings may be missing"))
    return world


def may_vary(sources: Sources, module: Module) -> bool:
    """Whether following a file that others call can find anything: something varies in it, or in a module of
    the program that it imports."""
    if module.may_vary:
        return True
    roots = roots_of(module.path)
    for name in module.imports:
        found = sources.find(name, roots) or sources.find(name.rpartition(".")[0], roots)
        if found is not None and found.may_vary:
            return True
    return False


def follow_library(sources: Sources, module: Module, world: World | None = None) -> World:
    """Follow every function and class of a file that others call, each on its own.

    Streams may have been seeded by the caller, so only what is wrong whoever calls it can be found.
    """
    world = world or World(sources, roots_of(module.path), library=True)
    world.roots = roots_of(module.path)
    world.limit = world.work + LIBRARY_BUDGET
    try:
        frame = scope.module_frame(world, module)
        for function in _roots(world, module):
            world.start_root()
            made = function.owner
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
    return world


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
