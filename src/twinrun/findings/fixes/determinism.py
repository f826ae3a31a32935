"""An op that varies (TW401): op determinism, or another op for the weighted `bincount`, which that leaves.

Both change bits, so neither is safe to apply unseen.
"""

from __future__ import annotations

import ast

from twinrun.findings.fixes.arguments import argument, unpacks
from twinrun.findings.fixes.fix import Draft
from twinrun.findings.fixes.imports import after_imports
from twinrun.findings.fixes.module import Module

SWITCH = "tensorflow.config.experimental.enable_op_determinism"
_BINCOUNT = ("arr", "weights", "minlength", "maxlength")


def repaired(module: Module, line: int) -> Draft | None:
    """Rewrite the weighted bincount at this line, or else turn op determinism on."""
    weighted = [
        call
        for call in module.calls_at(line)
        if module.names.called(call) == "tensorflow.math.bincount"
        and argument(call, "weights", 1) is not None
    ]
    return _segment_sum(module, weighted[0]) if weighted else _switched_on(module, line)


def _segment_sum(module: Module, call: ast.Call) -> Draft | None:
    """bincount(values, weights, n, n) is unsorted_segment_sum(weights, values, n) for vectors."""
    given = [argument(call, name, position) for position, name in enumerate(_BINCOUNT)]
    known = all(keyword.arg in _BINCOUNT for keyword in call.keywords)
    if (
        unpacks(call)
        or not known
        or len(call.args) > len(_BINCOUNT)
        or not isinstance(call.func, ast.Attribute)
    ):
        return None
    values, weights, minlength, maxlength = (
        module.text(each) if each is not None else None for each in given
    )
    if None in (values, weights, minlength) or minlength != maxlength:
        return None  # without both lengths the result's length depends on the data
    base = module.text(call.func.value)
    after = f"{base}.unsorted_segment_sum({weights}, {values}, num_segments={minlength})"
    note = "op determinism leaves the weighted bincount as it is; for vectors this op adds in a fixed order"
    return Draft((module.replace(call, after),), note, safe=False)


def _switched_on(module: Module, line: int) -> Draft | None:
    if not module.is_program or any(module.names.called(call) == SWITCH for call in module.calls()):
        return None
    for each in module.names.given_by("tensorflow"):
        if module.function(each.node) is None:
            text = f"{each.local}.config.experimental.enable_op_determinism()"
            edits = after_imports(module, each.node, None, text, before_line=line)
            note = "turn op determinism on; it changes the bits of other ops too, and can be slower"
            return None if edits is None else Draft(edits, note, safe=False)
    return None
