"""Follows statements in execution order, as Python would execute them, over marks instead of values.

Both ways of a branch are taken and joined; the body of a loop is taken twice; a branch that can be decided
from constants is decided. What a condition depends on marks what is assigned under it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from twinrun.audit import expressions, scope
from twinrun.audit.containers import element_of, store
from twinrun.audit.definitions import Class, Function
from twinrun.audit.marks import ELEMENT, NONE, Marks, as_collection, without_order
from twinrun.audit.outside import environment_assigned
from twinrun.audit.pipeline import options_assigned
from twinrun.audit.values import Thing, join, plain, total
from twinrun.audit.world import Frame, Seeding, UnorderedLoop, World

_GONE = ("return", "raise")
Names = dict[str, Thing]


def run_module(world: World, frame: Frame) -> None:
    run_block(world, frame, frame.module.tree.body)


def run_block(world: World, frame: Frame, body: Iterable[ast.stmt]) -> str:
    """Execute statements; says how the block was left: `` (at its end), return, raise, break or continue."""
    before = world.control
    jump = ""
    for statement in body:
        if world.exhausted:
            break
        world.work += 1
        handler = _STATEMENTS.get(type(statement))
        jump = handler(world, frame, statement) if handler is not None else ""
        if jump:
            break
    world.control = before
    return jump


def _if(world: World, frame: Frame, node: ast.If) -> str:
    condition = expressions.evaluate(world, frame, node.test)
    decided = expressions.truth(condition)
    if decided is not None:
        return run_block(world, frame, node.body if decided else node.orelse)
    return _branches(world, frame, [node.body, node.orelse], total(condition))


def _branches(world: World, frame: Frame, bodies: list[list[ast.stmt]], marks: Marks = NONE) -> str:
    """Take every way, then join what each of them left behind."""
    names, streams = frame.names, world.streams
    jumps: list[str] = []
    left: list[tuple[Names, dict[str, Seeding]]] = []
    for body in bodies:
        frame.names, world.streams = dict(names), dict(streams)
        with world.controlled(marks):
            jumps.append(run_block(world, frame, body))
        if jumps[-1] not in _GONE:
            left.append((frame.names, world.streams))
    frame.names, world.streams = names, streams
    if left:
        frame.names = left[0][0] if len(left) == 1 else _merged(*(state[0] for state in left))
        world.streams = left[0][1] if len(left) == 1 else _merged_streams(*(state[1] for state in left))
    if any(jump in ("return", "break", "continue") for jump in jumps) and not all(jumps):
        # The rest of this block is executed only when no way jumped: it depends on the condition too.
        world.control |= without_order(marks)
    return jumps[0] if all(jumps) else ""


def _merged(*states: Names) -> Names:
    merged: Names = {}
    for name in dict.fromkeys(name for state in states for name in state):
        values = [state[name] for state in states if name in state]
        first = values[0]
        merged[name] = first if all(value is first for value in values) else join(values)
    return merged


def _merged_streams(*states: dict[str, Seeding]) -> dict[str, Seeding]:
    """A stream seeded on one way counts as seeded: whoever seeds on condition has thought of it."""
    merged: dict[str, Seeding] = {}
    for stream in states[0]:
        found = [state[stream] for state in states]
        seeded = [each for each in found if each.state == "seeded"] or found
        marks = NONE.union(*(each.marks for each in seeded))
        merged[stream] = Seeding(seeded[0].state, marks)
    return merged


def _for(world: World, frame: Frame, node: ast.For | ast.AsyncFor) -> str:
    iterable = expressions.evaluate(world, frame, node.iter)
    element = expressions.element_met(world, frame, node.iter, iterable)
    unordered = frozenset(origin for origin, mode in total(element) if mode == ELEMENT)
    if unordered:
        world.loops.append(UnorderedLoop(unordered))
    try:
        _repeat(world, frame, node.body, lambda: expressions.assign(world, frame, node.target, element))
    finally:
        if unordered:
            world.loops.pop()
    return run_block(world, frame, node.orelse)


def _while(world: World, frame: Frame, node: ast.While) -> str:
    condition = expressions.evaluate(world, frame, node.test)
    if expressions.truth(condition) is False:
        return run_block(world, frame, node.orelse)
    with world.controlled(total(condition)):
        _repeat(world, frame, node.body, lambda: None)
    expressions.evaluate(world, frame, node.test)
    return run_block(world, frame, node.orelse)


def _repeat(world: World, frame: Frame, body: list[ast.stmt], start: Callable[[], None]) -> None:
    """Execute a loop's body: twice, so that what one turn leaves behind is met by the next."""
    before, streams = dict(frame.names), dict(world.streams)
    passes = world.passes
    world.repeats.append([*body])
    for turn in range(passes):
        world.passes = passes if turn == 0 else 1
        start()
        run_block(world, frame, body)
    world.repeats.pop()
    world.passes = passes
    frame.names = _merged(before, frame.names)
    world.streams = _merged_streams(world.streams, streams)


def _try(world: World, frame: Frame, node: ast.Try) -> str:
    jump = run_block(world, frame, node.body)
    handlers = [handler.body for handler in node.handlers]
    if jump == "raise" and handlers:
        jump = ""
    if handlers:
        for handler in node.handlers:
            if handler.name:
                frame.names[handler.name] = plain()
        _branches(world, frame, [node.orelse if not jump else [], *handlers])
    elif not jump:
        jump = run_block(world, frame, node.orelse)
    return run_block(world, frame, node.finalbody) or jump


def _with(world: World, frame: Frame, node: ast.With | ast.AsyncWith) -> str:
    for item in node.items:
        value = expressions.evaluate(world, frame, item.context_expr)
        if item.optional_vars is not None:
            expressions.assign(world, frame, item.optional_vars, value)
    return run_block(world, frame, node.body)


def _match(world: World, frame: Frame, node: ast.Match) -> str:
    subject = expressions.evaluate(world, frame, node.subject)
    for case in node.cases:
        for pattern in ast.walk(case.pattern):
            name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
            if isinstance(name, str):
                frame.names[name] = plain(total(subject))
    return _branches(world, frame, [*(case.body for case in node.cases), []], total(subject))


# -- simple statements --------------------------------------------------------------------------------


def _expression(world: World, frame: Frame, node: ast.Expr) -> str:
    expressions.evaluate(world, frame, node.value)
    return ""


def _assignment(world: World, frame: Frame, node: ast.Assign) -> str:
    value = expressions.evaluate(world, frame, node.value)
    for target in node.targets:
        _assign_to(world, frame, target, value, node)
    return ""


def _annotated(world: World, frame: Frame, node: ast.AnnAssign) -> str:
    if node.value is not None:
        _assign_to(world, frame, node.target, expressions.evaluate(world, frame, node.value), node)
    return ""


def _assign_to(world: World, frame: Frame, target: ast.expr, value: Thing, node: ast.stmt) -> None:
    environment_assigned(world, frame, target, value, node)
    options_assigned(world, frame, target, value, node)
    if isinstance(target, ast.Attribute) and target.attr in ("learning_rate", "lr"):
        world.reach(total(value), frame, node, "the learning rate")
    expressions.assign(world, frame, target, value)


def _augmented(world: World, frame: Frame, node: ast.AugAssign) -> str:
    """`x += …`: a counter when x is a number, more elements when it is a collection."""
    value = expressions.evaluate(world, frame, node.value)
    if isinstance(node.target, ast.Name):
        old = scope.lookup(world, frame, node.target.id)  # as it is, not as a counter that is read
        for loop in world.loops:
            loop.counters.add(node.target.id)
    else:
        old = expressions.evaluate(world, frame, node.target)
    marks = total(value)
    if isinstance(node.target, ast.Subscript):
        key = expressions.evaluate(world, frame, node.target.slice)
        holder = expressions.evaluate(world, frame, node.target.value)
        store(holder, key, plain(without_order(marks) | world.control, numeric=value.numeric))
    elif old.numeric:
        expressions.assign(world, frame, node.target, plain(without_order(total(old) | marks), numeric=True))
    elif old.kind in ("list", "set"):
        if old.kind == "list":
            old.mark(as_collection(marks) | world.control)
        old.items, old.element, old.numeric = (
            None,
            join((element_of(old), plain(without_order(marks)))),
            False,
        )
    else:
        expressions.assign(world, frame, node.target, plain(total(old) | as_collection(marks)))
    return ""


def _return(world: World, frame: Frame, node: ast.Return) -> str:
    value = expressions.evaluate(world, frame, node.value) if node.value is not None else Thing(constant=None)
    frame.returned.append(value.marked(world.control) if world.control else value)
    return "return"


def _raise(world: World, frame: Frame, node: ast.Raise) -> str:
    if node.exc is not None:
        expressions.evaluate(world, frame, node.exc)
    return "raise"


def _assert(world: World, frame: Frame, node: ast.Assert) -> str:
    expressions.evaluate(world, frame, node.test)
    return ""


def _function(world: World, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    thing = expressions.function_value(world, frame, node)
    scope.bind(frame, node.name, expressions.call_decorators(world, frame, node, thing))
    return ""


def _class(world: World, frame: Frame, node: ast.ClassDef) -> str:
    bases = tuple(expressions.evaluate(world, frame, base) for base in node.bases)
    decorators = tuple(_decorator_name(world, frame, each) for each in node.decorator_list)
    made = Class(node, node.name, frame, bases, decorators=decorators)
    body = Frame(frame.module, made.names, frame, frame.function)
    run_block(world, body, node.body)
    made.names = body.names
    for thing in made.names.values():
        for each in thing.each():
            if each.kind == "function" and isinstance(each.ref, Function) and each.ref.frame is body:
                # The names of a class body are not visible in its methods.
                each.ref.owner, each.ref.frame = made, frame
    scope.bind(frame, node.name, Thing("class", ref=made, path=node.name))
    return ""


def _decorator_name(world: World, frame: Frame, node: ast.expr) -> str:
    target = node.func if isinstance(node, ast.Call) else node
    return expressions.evaluate(world, frame, target).path


def _delete(world: World, frame: Frame, node: ast.Delete) -> str:
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.names.pop(target.id, None)
    return ""


def _global(world: World, frame: Frame, node: ast.Global) -> str:
    frame.declared_global.update(node.names)
    return ""


def _nonlocal(world: World, frame: Frame, node: ast.Nonlocal) -> str:
    frame.declared_outer.update(node.names)
    return ""


def _import(world: World, frame: Frame, node: ast.Import) -> str:
    scope.run_import(world, frame, node)
    return ""


def _import_from(world: World, frame: Frame, node: ast.ImportFrom) -> str:
    scope.run_import_from(world, frame, node)
    return ""


def _break(world: World, frame: Frame, node: ast.Break) -> str:
    return "break"


def _continue(world: World, frame: Frame, node: ast.Continue) -> str:
    return "continue"


_STATEMENTS: dict[type[ast.stmt], Callable[..., str]] = {
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Try: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Match: _match,
    ast.Expr: _expression,
    ast.Assign: _assignment,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Delete: _delete,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Break: _break,
    ast.Continue: _continue,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _try
