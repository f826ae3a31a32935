"""An op that varies (TW401): op determinism, or a different op for the weighted `bincount`, which that does not fix.

Both change bits, so neither is safe to apply automatically.
"""

from __future__ import annotations

import libcst as cst

from twinrun.findings.fixes.changes import Draft, argument, replace, unpacks
from twinrun.findings.fixes.imports import after_imports
from twinrun.findings.fixes.module import Module, require, sure

_SWITCH = "tensorflow.config.experimental.enable_op_determinism"
_BINCOUNT = ("arr", "weights", "minlength", "maxlength")


def repaired(module: Module, line: int) -> Draft:
    """Rewrite the weighted bincount at this line, or else turn op determinism on."""
    for call in module.calls_at(line):
        if module.name(call) == "tensorflow.math.bincount" and argument(call, "weights", 1) is not None:
            return _segment_sum(module, call)
    return _switched_on(module, line)


def _segment_sum(module: Module, call: cst.Call) -> Draft:
    """bincount(values, weights, n, n) is unsorted_segment_sum(weights, values, n) for vectors."""
    given = [argument(call, name, position) for position, name in enumerate(_BINCOUNT)]
    values, weights, minlength, maxlength = (each and module.code(each) for each in given)
    # Without both lengths the result's length depends on the data.
    require(not unpacks(call) and len(call.args) == len(_BINCOUNT) and minlength == maxlength)
    base = module.code(cst.ensure_type(call.func, cst.Attribute).value)
    after = f"{base}.unsorted_segment_sum({weights}, {values}, num_segments={minlength})"
    note = "op determinism does not fix the weighted bincount; for vectors this op adds in a fixed order"
    return Draft((replace(call, after),), note, safe=False)


def _switched_on(module: Module, line: int) -> Draft:
    require(module.is_program and not module.calls(_SWITCH))
    function, behind = sure(module.spelled(_SWITCH, module.tree))
    changes = after_imports(module, behind, None, f"{function}()", before_line=line)
    note = "turn op determinism on; it changes the bits of other ops too, and can be slower"
    return Draft(changes, note, safe=False)
