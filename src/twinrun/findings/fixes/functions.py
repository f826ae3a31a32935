"""The user's functions that are passed to something: finding them, and giving them a parameter more."""

from __future__ import annotations

import ast

from twinrun.findings.fixes.fix import Edit
from twinrun.findings.fixes.module import Function, Module

_TRANSPARENT = {"tensorflow.function"}


def passed_function(module: Module, reference: ast.expr) -> Function | ast.Lambda | None:
    """The function that an argument stands for, when the module defines it once and uses it only here."""
    if isinstance(reference, ast.Lambda):
        return reference
    if isinstance(reference, ast.Name):
        return _named(module, reference)
    if isinstance(reference, ast.Attribute) and isinstance(reference.value, ast.Name):
        return _method(module, reference)
    return None


def parameters(module: Module, function: Function | ast.Lambda) -> list[ast.arg] | None:
    """The plain parameters, without `self`; None when there are others (defaults, `*args`, keyword-only)."""
    arguments = function.args
    if (
        arguments.vararg
        or arguments.kwarg
        or arguments.kwonlyargs
        or arguments.defaults
        or arguments.posonlyargs
    ):
        return None
    plain = list(arguments.args)
    if is_method(module, function) and not _is_static(function):
        plain = plain[1:]
    return plain or None


def is_method(module: Module, function: Function | ast.Lambda) -> bool:
    return isinstance(module.parent.get(function), ast.ClassDef)


def add_parameter(module: Module, function: Function | ast.Lambda, name: str) -> Edit | None:
    """The edit that adds a last parameter."""
    plain = parameters(module, function)
    if plain is None:
        return None
    end = module.end(plain[-1])
    return Edit(end, end, f", {name}")


def first_statement(function: Function) -> ast.stmt:
    """The first statement behind the docstring."""
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.body[1] if is_docstring and len(function.body) > 1 else first


def at_the_top(module: Module, function: Function, text: str) -> Edit | None:
    """A new first line in a function's body; None when the body stands on the line of `def`."""
    first = first_statement(function)
    return None if first.lineno == function.lineno else module.insert_line_before(first, text)


def _named(module: Module, reference: ast.Name) -> Function | ast.Lambda | None:
    found: list[Function | ast.Lambda] = []
    uses = 0
    for node in module.named[reference.id]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(node)
        elif isinstance(node, ast.arg):
            return None
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                uses += 1
                continue
            outer = module.parent[node]
            if not isinstance(outer, ast.Assign) or not isinstance(outer.value, ast.Lambda):
                return None
            found.append(outer.value)
    return found[0] if len(found) == 1 and uses == 1 and _plain(module, found[0]) else None


def _method(module: Module, reference: ast.Attribute) -> Function | None:
    owner = module.enclosing_class(reference)
    if (
        owner is None
        or not isinstance(reference.value, ast.Name)
        or reference.value.id not in ("self", "cls", owner.name)
    ):
        return None
    bound = module.named.get(reference.attr, [])
    found = [node for node in bound if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    uses = module.attributes[reference.attr]
    if len(found) != 1 or len(uses) != 1 or module.parent.get(found[0]) is not owner:
        return None
    return found[0] if _plain(module, found[0]) else None


def _plain(module: Module, function: Function | ast.Lambda) -> bool:
    """No decorator that would care about the parameters, and no coroutine."""
    if isinstance(function, ast.AsyncFunctionDef):
        return False
    return all(
        module.names.dotted(decorator) in _TRANSPARENT
        or (isinstance(decorator, ast.Name) and decorator.id == "staticmethod")
        for decorator in getattr(function, "decorator_list", [])
    )


def _is_static(function: Function | ast.Lambda) -> bool:
    decorators = getattr(function, "decorator_list", [])
    return any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in decorators)
