"""The user's functions that are passed to something: finding them, and reading their parameters."""

from __future__ import annotations

import libcst as cst
from libcst.metadata import Assignment

from twinrun.findings.fixes.changes import is_name
from twinrun.findings.fixes.module import Function, Module


def passed_function(module: Module, reference: cst.BaseExpression | None) -> Function | None:
    """The function that an argument stands for, when the module defines it once and uses it only here."""
    if isinstance(reference, cst.Lambda):
        return reference
    found = None
    if isinstance(reference, cst.Name):
        found = _named(module, reference)
    elif isinstance(reference, cst.Attribute):
        found = _method(module, reference)
    return found if found is not None and _plain(module, found) else None


def parameters(module: Module, function: Function) -> list[str] | None:
    """The plain parameters, without `self`; None when there are others (defaults, `*args`, keyword-only)."""
    given = function.params
    others = (
        given.kwonly_params,
        given.posonly_params,
        given.star_kwarg,
        isinstance(given.star_arg, cst.Param),
    )
    if any(others) or any(each.default for each in given.params):
        return None
    plain = [each.name.value for each in given.params]
    if isinstance(module.body_of(function), cst.ClassDef) and not _is_static(function):
        plain = plain[1:]
    return plain or None


def _named(module: Module, reference: cst.Name) -> Function | None:
    assignments = list(module.scope(reference)[reference.value])
    if len(assignments) != 1 or len(assignments[0].references) != 1:
        return None
    node = assignments[0].node if isinstance(assignments[0], Assignment) else None
    if isinstance(node, cst.FunctionDef):
        return node
    values = module.assigned_to(node) if isinstance(node, cst.Name) else []
    return values[0] if len(values) == 1 and isinstance(values[0], cst.Lambda) else None


def _method(module: Module, reference: cst.Attribute) -> cst.FunctionDef | None:
    owner = module.outer(reference, cst.ClassDef)
    if owner is None or not is_name(reference.value, "self", "cls", owner.name.value):
        return None
    name = reference.attr.value
    found = [node for node in module.find(cst.FunctionDef) if node.name.value == name]
    uses = [node for node in module.find(cst.Attribute) if node.attr.value == name]
    return found[0] if len(found) == len(uses) == 1 and module.body_of(found[0]) is owner else None


def _plain(module: Module, function: Function) -> bool:
    """No decorator that would care about the parameters, and no coroutine."""
    if isinstance(function, cst.Lambda):
        return True
    decorators = {module.name(each.decorator) for each in function.decorators}
    return function.asynchronous is None and decorators <= {"tensorflow.function", "builtins.staticmethod"}


def _is_static(function: Function) -> bool:
    return any(is_name(each.decorator, "staticmethod") for each in getattr(function, "decorators", ()))
