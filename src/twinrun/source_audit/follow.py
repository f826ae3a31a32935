"""Follows one program from its first statement to its last, or the functions of files that others call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from twinrun.source_audit import expressions, function_calls, operators, scopes, statements
from twinrun.source_audit.abstract_values import Arguments, Value
from twinrun.source_audit.definitions import Class, Function
from twinrun.source_audit.marks import NONE
from twinrun.source_audit.program_files import Module, Problem, Sources
from twinrun.source_audit.rules import dispatch
from twinrun.source_audit.state import LIBRARY_BUDGET, Frame, State

_SYNTAX = {**expressions.EXPRESSIONS, **operators.EXPRESSIONS, **statements.STATEMENTS}
_ROUNDS = 4  # a function that is followed may define others: this often they are looked for


def follow_program(sources: Sources, entry: Module, arguments: tuple[str, ...] | None = None) -> State:
    """Execute a script from its first statement to its last, in the order Python would."""
    state = State(_SYNTAX, dispatch, sources, sources.roots(entry), entry=entry, arguments=arguments)
    with _failures_reported(state, entry):
        frame = scopes.module_frame(state, entry)
        for _ in range(_ROUNDS):
            if not _enter_unreached(frame):
                break
    state.resolve_pending()
    if state.exhausted:
        state.problems.append(Problem(entry.shown, "too large to follow to its end: findings may be missing"))
    return state


def follow_library(sources: Sources, module: Module, state: State | None = None) -> State:
    """Follow every function and class of a file that others call, each on its own.

    Streams may have been seeded by the caller, so only what is wrong whoever calls it can be found.
    """
    state = state or State(_SYNTAX, dispatch, sources, sources.roots(module), library=True)
    state.roots = sources.roots(module)
    state.limit = state.work + LIBRARY_BUDGET
    with _failures_reported(state, module):
        frame = scopes.module_frame(state, module)
        for function in _roots(state, module):
            made = function.owner
            state.start_root()
            for method in [function] if made is None else made.methods():
                if id(method.node) not in state.entered:
                    _enter(frame, method)
            state.resolve_pending()
    state.resolve_pending()
    state.control = NONE
    return state


@contextmanager
def _failures_reported(state: State, module: Module) -> Iterator[None]:
    """A file that the audit fails on is a problem of its own, and no reason to lose the findings of others."""
    try:
        yield
    except RecursionError:
        state.problems.append(Problem(module.shown, "too deeply nested to follow"))
    except Exception as error:
        reason = f"the audit itself failed here, please report it: {error!r}"
        state.problems.append(Problem(module.shown, reason))


def _roots(state: State, module: Module) -> list[Function]:
    """The functions of a module, and one method for each of its classes."""
    found: dict[int, Function] = {}
    for function in state.functions.get(id(module), {}).values():
        key = id(function.owner.node) if function.owner is not None else id(function.node)
        if not isinstance(function.node, ast.Lambda):
            found.setdefault(key, function)
    return list(found.values())


def _enter_unreached(frame: Frame) -> bool:
    """Functions that live code mentions but whose calls could not be followed (a lookup by name)."""
    state = frame.state
    before = len(state.entered)
    for function in [each for module in state.functions.values() for each in module.values()]:
        if id(function.node) in state.entered or state.exhausted:
            continue
        mentioned = id(function.node) in state.loaded
        if mentioned if function.owner is None else function.name in state.unknown_methods:
            _enter(frame, function)
    return len(state.entered) > before


def _enter(frame: Frame, function: Function) -> None:
    bound = None
    if function.owner is not None and not function.is_static:
        bound = _instance(frame, function.owner)
        if id(function.node) in frame.state.entered:  # making the instance has entered it
            return
    callee = Value("function", ref=function, bound=bound)
    function_calls.enter_unknown(frame, function.node, callee)


def _instance(frame: Frame, made: Class) -> Value:
    known = frame.state.instances.get(id(made))
    if known is not None:
        return known
    constructor = made.find("__init__")
    given = Arguments()
    if constructor is not None and constructor.kind == "function":
        given = function_calls.unknown_arguments(constructor.ref, True)
    return function_calls.instantiate(frame, made.node, Value("class", ref=made), given)
