"""The user's functions that are passed to something: finding them, and reading their parameters."""

from __future__ import annotations

import libcst as cst
from libcst.metadata import Assignment

from twinrun.findings.fixes.changes import is_name
from twinrun.findings.fixes.module import Function, Module, require


def passed_function(module: Module, reference: cst.BaseExpression | None) -> Function | None:
    """The function that an argument stands for, when the module defines it once and uses it only here."""
    found: Function | None = None
    if isinstance(reference, cst.Lambda):
        return reference
    if isinstance(reference, cst.Name):
        found = _named(module, reference)
    elif isinstance(reference, cst.Attribute):
        found = _method(module, reference)
    # A decorator may care about the parameters.
    decorators = {module.name(each.decorator) for each in getattr(found, "decorators", ())}
    plain = getattr(found, "asynchronous", None) is None
    return found if plain and decorators <= {"tensorflow.function", "builtins.staticmethod"} else None


def parameters(module: Module, function: Function) -> list[str]:
    """The parameters, without `self`, of a function that has none with defaults, `*args` or keyword-only ones."""
    given = function.params
    require(not (given.kwonly_params or given.posonly_params or given.star_kwarg))
    require(not isinstance(given.star_arg, cst.Param) and not any(each.default for each in given.params))
    plain = [each.name.value for each in given.params]
    decorators = [each.decorator for each in getattr(function, "decorators", ())]
    is_static = any(is_name(each, "staticmethod") for each in decorators)
    plain = plain[1:] if isinstance(module.owner(function), cst.ClassDef) and not is_static else plain
    require(plain)
    return plain


def _named(module: Module, reference: cst.Name) -> Function | None:
    assignments = list(module.scope(reference)[reference.value])
    if len(assignments) != 1 or len(assignments[0].references) != 1:
        return None
    node = assignments[0].node if isinstance(assignments[0], Assignment) else None
    values = [node] if node is None or isinstance(node, cst.FunctionDef) else module.assigned_to(node)
    return values[0] if len(values) == 1 and isinstance(values[0], cst.FunctionDef | cst.Lambda) else None


def _method(module: Module, reference: cst.Attribute) -> cst.FunctionDef | None:
    owner = module.outer(reference, cst.ClassDef)
    if owner is None or not is_name(reference.value, "self", "cls", owner.name.value):
        return None
    name = reference.attr.value
    found = [node for node in module.find(cst.FunctionDef) if node.name.value == name]
    uses = [node for node in module.find(cst.Attribute) if node.attr.value == name]
    return found[0] if len(found) == len(uses) == 1 and module.owner(found[0]) is owner else None
