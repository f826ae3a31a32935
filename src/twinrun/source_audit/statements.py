"""Follows statements in the order Python would execute them, over marks instead of values.

Both branches of a condition are taken and joined, unless constants decide it; the body of a loop is taken twice.
What a condition depends on marks what is assigned under it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from twinrun.source_audit import scopes
from twinrun.source_audit.abstract_values import Value, join, plain, total
from twinrun.source_audit.containers import element_of, store
from twinrun.source_audit.definitions import Class, Function
from twinrun.source_audit.expressions import assign, call_decorators, function_value, iterate, truth
from twinrun.source_audit.marks import NONE, Marks, as_collection, without_order
from twinrun.source_audit.state import Frame, Seeding, Syntax

Names = dict[str, Value]


def _if(frame: Frame, node: ast.If) -> str | None:
    condition = frame.evaluate(node.test)
    decided = truth(condition)
    if decided is not None:
        return frame.execute(node.body if decided else node.orelse)
    return _branches(frame, [node.body, node.orelse], total(condition))


def _branches(frame: Frame, bodies: list[list[ast.stmt]], marks: Marks = NONE) -> str | None:
    """Take every branch, then join what each of them left behind."""
    state = frame.state
    names, streams = frame.names, state.streams
    jumps: list[str | None] = []
    left: list[tuple[Names, dict[str, Seeding]]] = []
    for body in bodies:
        frame.names, state.streams = dict(names), dict(streams)
        with state.controlled(marks):
            jumps.append(frame.execute(body))
        if jumps[-1] not in ("return", "raise"):
            left.append((frame.names, state.streams))
    frame.names, state.streams = names, streams
    if left:
        frame.names = left[0][0] if len(left) == 1 else _merged(*(names for names, _ in left))
        state.streams = left[0][1] if len(left) == 1 else _merged_streams(*(streams for _, streams in left))
    if any(jump in ("return", "break", "continue") for jump in jumps) and not all(jumps):
        # The rest of this block is executed only when no branch jumped: it depends on the condition too.
        state.control |= without_order(marks)
    return jumps[0] if all(jumps) else None


def _merged(*states: Names) -> Names:
    merged: Names = {}
    for name in dict.fromkeys(name for state in states for name in state):
        values = [state[name] for state in states if name in state]
        first = values[0]
        merged[name] = first if all(value is first for value in values) else join(values)
    return merged


def _merged_streams(*states: dict[str, Seeding]) -> dict[str, Seeding]:
    """A stream that is seeded in one branch counts as seeded: whoever seeds on condition has thought of it."""
    merged: dict[str, Seeding] = {}
    for stream in states[0]:
        found = [state[stream] for state in states]
        seeded = [each for each in found if each.state == "seeded"] or found
        merged[stream] = Seeding(seeded[0].state, NONE.union(*(each.marks for each in seeded)))
    return merged


def _for(frame: Frame, node: ast.For | ast.AsyncFor) -> str | None:
    state = frame.state
    element = iterate(frame, node.iter, frame.evaluate(node.iter))
    with state.during(loops=state.loops_over(element)):
        _repeat(frame, node.body, lambda: assign(frame, node.target, element))
    return frame.execute(node.orelse)


def _while(frame: Frame, node: ast.While) -> str | None:
    condition = frame.evaluate(node.test)
    if truth(condition) is False:
        return frame.execute(node.orelse)
    with frame.state.controlled(total(condition)):
        _repeat(frame, node.body, lambda: None)
    frame.evaluate(node.test)
    return frame.execute(node.orelse)


def _repeat(frame: Frame, body: list[ast.stmt], start: Callable[[], None]) -> None:
    """Execute the body of a loop twice, so that the second turn sees what the first left behind."""
    state = frame.state
    before, streams = dict(frame.names), dict(state.streams)
    with state.during(repeats=[*state.repeats, list[ast.AST](body)]):
        for passes in (state.passes, 1)[
            : state.passes
        ]:  # the loops inside are taken twice the first time only
            with state.during(passes=passes):
                start()
                frame.execute(body)
    frame.names = _merged(before, frame.names)
    state.streams = _merged_streams(state.streams, streams)


def _try(frame: Frame, node: ast.Try) -> str | None:
    jump = frame.execute(node.body)
    if not node.handlers:
        jump = jump or frame.execute(node.orelse)
        return frame.execute(node.finalbody) or jump
    if jump == "raise":
        jump = None
    for handler in node.handlers:
        if handler.name:
            frame.names[handler.name] = plain()
    _branches(frame, [[] if jump else node.orelse, *(handler.body for handler in node.handlers)])
    return frame.execute(node.finalbody) or jump


def _with(frame: Frame, node: ast.With | ast.AsyncWith) -> str | None:
    for item in node.items:
        value = frame.evaluate(item.context_expr)
        if item.optional_vars is not None:
            assign(frame, item.optional_vars, value)
    return frame.execute(node.body)


def _match(frame: Frame, node: ast.Match) -> str | None:
    subject = frame.evaluate(node.subject)
    for case in node.cases:
        for pattern in ast.walk(case.pattern):
            name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
            if isinstance(name, str):
                frame.names[name] = plain(total(subject))
    return _branches(frame, [*(case.body for case in node.cases), []], total(subject))


# -- simple statements --------------------------------------------------------------------------------


def _assignment(frame: Frame, node: ast.Assign | ast.AnnAssign) -> None:
    if node.value is None:
        return
    value = frame.evaluate(node.value)
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        frame.state.rules.assigned(frame, target, value, node)
        if isinstance(target, ast.Attribute) and target.attr in ("learning_rate", "lr"):
            frame.state.reach(total(value), f"the learning rate at {frame.site(node)}")
        assign(frame, target, value)


def _augmented(frame: Frame, node: ast.AugAssign) -> None:
    """`x += …`: a counter when x is a number, more elements when it is a collection."""
    state = frame.state
    value = frame.evaluate(node.value)
    if isinstance(node.target, ast.Name):
        old = scopes.lookup(frame, node.target.id)  # as it is, not as a counter that is read
        for loop in state.loops:
            loop.counters.add(node.target.id)
    else:
        old = frame.evaluate(node.target)
    marks = total(value)
    if isinstance(node.target, ast.Subscript):
        key = frame.evaluate(node.target.slice)
        holder = frame.evaluate(node.target.value)
        store(holder, key, plain(without_order(marks) | state.control, numeric=value.numeric))
    elif old.numeric:
        assign(frame, node.target, plain(without_order(total(old) | marks), numeric=True))
    elif old.kind in ("list", "set"):
        if old.kind == "list":
            old.mark(as_collection(marks) | state.control)
        old.element = join((element_of(old), plain(without_order(marks))))
        old.items, old.numeric = None, False
    else:
        assign(frame, node.target, plain(total(old) | as_collection(marks)))


def _return(frame: Frame, node: ast.Return) -> str:
    value = frame.evaluate(node.value) if node.value is not None else Value(constant=None)
    frame.returned.append(value.marked(frame.state.control))
    return "return"


def _raise(frame: Frame, node: ast.Raise) -> str:
    if node.exc is not None:
        frame.evaluate(node.exc)
    return "raise"


def _function(frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    function = function_value(frame, node)
    scopes.bind(frame, node.name, call_decorators(frame, node, function))


def _class(frame: Frame, node: ast.ClassDef) -> None:
    bases = tuple(frame.evaluate(base) for base in node.bases)
    decorators = tuple(
        frame.evaluate(each.func if isinstance(each, ast.Call) else each).path for each in node.decorator_list
    )
    made = Class(node, node.name, frame, bases, decorators=decorators)
    body = Frame(frame.state, frame.module, made.names, frame)
    body.execute(node.body)
    made.names = body.names
    for value in made.names.values():
        for each in value.each():
            if each.kind == "function" and isinstance(each.ref, Function) and each.ref.frame is body:
                # The names of a class body are not visible in its methods.
                each.ref.owner, each.ref.frame = made, frame
    scopes.bind(frame, node.name, Value("class", ref=made, path=node.name))


def _delete(frame: Frame, node: ast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.names.pop(target.id, None)


def _expression(frame: Frame, node: ast.Expr | ast.Assert) -> None:
    frame.evaluate(node.test if isinstance(node, ast.Assert) else node.value)


STATEMENTS: Syntax = {
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Try: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Match: _match,
    ast.Expr: _expression,
    ast.Assert: _expression,
    ast.Assign: _assignment,
    ast.AnnAssign: _assignment,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Delete: _delete,
    ast.Global: lambda frame, node: frame.declared_global.update(node.names),
    ast.Nonlocal: lambda frame, node: frame.declared_outer.update(node.names),
    ast.Import: scopes.run_import,
    ast.ImportFrom: scopes.run_import_from,
    ast.Break: lambda frame, node: "break",
    ast.Continue: lambda frame, node: "continue",
    **({ast.TryStar: _try} if hasattr(ast, "TryStar") else {}),
}
