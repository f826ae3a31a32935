"""Follows one program from its first statement to its last, or the functions of files that others call."""

from __future__ import annotations

from twinrun.audit import calls, scope
from twinrun.audit.call import Arguments
from twinrun.audit.definitions import Class, Function
from twinrun.audit.program import Module, Problem, Sources, roots_of
from twinrun.audit.values import Thing, plain
from twinrun.audit.world import Frame, World

_ROUNDS = 4
"""A function that is followed may define others: so often are those looked for."""


def follow_program(sources: Sources, entry: Module) -> World:
    """Execute a script from its first statement to its last, in the order Python would."""
    world = World(sources, roots_of(entry.path), entry=entry)
    try:
        frame = scope.module_frame(world, entry)
        for _ in range(_ROUNDS):
            if not _enter_lost(world, frame):
                break
    except RecursionError:
        world.problems.append(Problem(entry.shown, "too deeply nested to follow"))
    _say_when_cut_short(world, entry)
    return world


def follow_library(sources: Sources, module: Module, world: World | None = None) -> World:
    """Follow every function of a file that others call. Streams may have been seeded by the caller, so only
    what is wrong whoever calls it can be found."""
    world = world or World(sources, roots_of(module.path), library=True)
    world.roots = roots_of(module.path)
    world.work = 0
    try:
        frame = scope.module_frame(world, module)
        for _ in range(_ROUNDS):
            if not _enter_all(world, frame, module):
                break
    except RecursionError:
        world.problems.append(Problem(module.shown, "too deeply nested to follow"))
    _say_when_cut_short(world, module)
    return world


def _say_when_cut_short(world: World, module: Module) -> None:
    if world.exhausted:
        world.problems.append(
            Problem(module.shown, "too large to follow to its end: findings may be missing")
        )


def _enter_lost(world: World, frame: Frame) -> bool:
    """Functions that live code mentions but whose calls could not be followed (a lookup by name)."""
    before = len(world.entered)
    for function in list(world.functions):
        if id(function.node) in world.entered or world.exhausted:
            continue
        mentioned = id(function.node) in world.loaded
        if mentioned if function.owner is None else function.name in world.unknown_methods:
            _enter(world, frame, function)
    return len(world.entered) > before


def _enter_all(world: World, frame: Frame, module: Module) -> bool:
    before = len(world.entered)
    for function in list(world.functions):
        if world.exhausted:
            break
        if id(function.node) not in world.entered and function.frame.module is module:
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
