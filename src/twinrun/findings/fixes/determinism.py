"""An op that varies (TW401): op determinism, or another op for the weighted `bincount`, which that leaves.

Both change bits, so neither is safe to apply unseen.
"""

from __future__ import annotations

import libcst as cst

from twinrun.findings.fixes.changes import Draft, argument, replace, unpacks
from twinrun.findings.fixes.imports import after_imports
from twinrun.findings.fixes.module import Module

_SWITCH = "tensorflow.config.experimental.enable_op_determinism"
_BINCOUNT = ("arr", "weights", "minlength", "maxlength")


def repaired(module: Module, line: int) -> Draft | None:
    """Rewrite the weighted bincount at this line, or else turn op determinism on."""
    for call in module.calls_at(line):
        if module.name(call) == "tensorflow.math.bincount" and argument(call, "weights", 1) is not None:
            return _segment_sum(module, call)
    return _switched_on(module, line)


def _segment_sum(module: Module, call: cst.Call) -> Draft | None:
    """bincount(values, weights, n, n) is unsorted_segment_sum(weights, values, n) for vectors."""
    given = [argument(call, name, position) for position, name in enumerate(_BINCOUNT)]
    values, weights, minlength, maxlength = (each and module.code(each) for each in given)
    if unpacks(call) or len(call.args) != len(_BINCOUNT) or None in (values, weights, minlength):
        return None
    if minlength != maxlength or not isinstance(call.func, cst.Attribute):
        return None  # without both lengths the result's length depends on the data
    base = module.code(call.func.value)
    after = f"{base}.unsorted_segment_sum({weights}, {values}, num_segments={minlength})"
    note = "op determinism leaves the weighted bincount as it is; for vectors this op adds in a fixed order"
    return Draft((replace(call, after),), note, safe=False)


def _switched_on(module: Module, line: int) -> Draft | None:
    if not module.is_program or module.calls(_SWITCH):
        return None
    for each in module.given_by("tensorflow"):
        if module.function(each.statement) is None:
            text = f"{each.local}.config.experimental.enable_op_determinism()"
            changes = after_imports(module, each.statement, None, text, before_line=line)
            note = "turn op determinism on; it changes the bits of other ops too, and can be slower"
            return None if changes is None else Draft(changes, note, safe=False)
    return None
