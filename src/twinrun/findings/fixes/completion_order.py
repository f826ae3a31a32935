"""`deterministic=False` (TW202): `True` in its place."""

from __future__ import annotations

import libcst as cst

from twinrun.findings.fixes.changes import Change, Draft, argument, is_name, replace
from twinrun.findings.fixes.module import Module
from twinrun.knowledge.functions import Kind, known_method

_OPTIONS = {"deterministic", "experimental_deterministic"}


def deterministic(module: Module, line: int) -> Draft:
    """Set the flag at this line to True; or the one place of the file's Options where it is False."""
    changes = [change for call in module.calls_at(line) if (change := _flag(call))]
    if not changes:
        options = {node: change for node in module.find(cst.Assign) if (change := _option(node))}
        here = module.statement_at(line)
        changes = [change for node, change in options.items() if module.statement(node) is here]
        if not changes and len(options) == 1:
            changes = list(options.values())
    return Draft(tuple(changes), "keep the elements in order; the calls still run in parallel", safe=True)


def _flag(call: cst.Call) -> Change | None:
    name = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    method = known_method(name, "tensorflow.data.Dataset")
    if method is None or method.kind is not Kind.DATASET:
        return None
    given = argument(call, "deterministic", method.deterministic)
    return replace(given, "True") if given is not None and is_name(given, "False") else None


def _option(node: cst.Assign) -> Change | None:
    """`options.deterministic = False`."""
    targets = [each.target for each in node.targets]
    named = any(isinstance(each, cst.Attribute) and each.attr.value in _OPTIONS for each in targets)
    return replace(node.value, "True") if named and is_name(node.value, "False") else None
