"""`deterministic=False` (TW202): `True` in its place."""

from __future__ import annotations

import ast

from twinrun.findings.fixes.arguments import argument
from twinrun.findings.fixes.fix import Draft, Edit
from twinrun.findings.fixes.module import Module

# Methods of a dataset and the position of `deterministic`.
METHODS = {"map": 2, "interleave": 4, "batch": 3, "padded_batch": None, "ragged_batch": None}
_OPTIONS = {"deterministic", "experimental_deterministic"}


def deterministic(module: Module, line: int) -> Draft | None:
    """Set the flag at this line to True; or the one place of the file's Options where it is False."""
    edits = [edit for call in module.calls_at(line) if (edit := _in_call(module, call))]
    statement = module.statement_at(line)
    if not edits and statement is not None and (edit := _in_options(module, statement)):
        edits = [edit]
    if not edits:
        everywhere = [edit for node in ast.walk(module.tree) if (edit := _in_options(module, node))]
        edits = everywhere if len(everywhere) == 1 else []
    if not edits:
        return None
    return Draft(tuple(edits), "keep the elements in order; the calls still run in parallel", safe=True)


def _in_call(module: Module, call: ast.Call) -> Edit | None:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in METHODS:
        return None
    given = argument(call, "deterministic", METHODS[call.func.attr])
    return module.replace(given, "True") if given is not None and _is_false(given) else None


def _in_options(module: Module, node: ast.AST) -> Edit | None:
    """`options.deterministic = False`."""
    if not isinstance(node, ast.Assign) or not _is_false(node.value):
        return None
    if any(isinstance(target, ast.Attribute) and target.attr in _OPTIONS for target in node.targets):
        return module.replace(node.value, "True")
    return None


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
