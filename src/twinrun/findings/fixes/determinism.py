"""Order or bits that the program leaves to chance: `deterministic=False` (TW202), and ops that vary (TW401)."""

from __future__ import annotations

import libcst as cst

from twinrun.findings.fixes import edit
from twinrun.findings.fixes.edit import Change, Draft, argument, is_name, unpacks
from twinrun.findings.fixes.imports import after_imports
from twinrun.findings.fixes.module import Module, called_name, require, sure
from twinrun.knowledge.functions import Kind, known_method

_OPTIONS = {"deterministic", "experimental_deterministic"}
_SWITCH = "tensorflow.config.experimental.enable_op_determinism"
_BINCOUNT = ("arr", "weights", "minlength", "maxlength")


def in_order(module: Module, line: int) -> Draft:
    """Set the flag at this line to True, and with it every other of the file: what one leaves to chance may agree by luck
    in all runs. Or the one place of the file's Options where it is False."""
    changes = [change for call in module.calls_at(line) if (change := _flag(call))]
    if changes:
        changes = [change for call in module.find(cst.Call) if (change := _flag(call))]
    if not changes:
        options = {node: change for node in module.find(cst.Assign) if (change := _option(node))}
        here = module.statement_at(line)
        changes = [change for node, change in options.items() if module.statement(node) is here]
        if not changes and len(options) == 1:
            changes = list(options.values())
    return Draft(tuple(changes), "keep the elements in order; the calls still run in parallel", safe=True)


def _flag(call: cst.Call) -> Change | None:
    name = called_name(call) if isinstance(call.func, cst.Attribute) else ""
    method = known_method(name, "tensorflow.data.Dataset")
    if method is None or method.kind is not Kind.DATASET:
        return None
    given = argument(call, "deterministic", method.deterministic)
    return edit.replace(given, "True") if given is not None and is_name(given, "False") else None


def _option(node: cst.Assign) -> Change | None:
    """`options.deterministic = False`."""
    targets = [each.target for each in node.targets]
    named = any(isinstance(each, cst.Attribute) and each.attr.value in _OPTIONS for each in targets)
    return edit.replace(node.value, "True") if named and is_name(node.value, "False") else None


def fixed_op(module: Module, line: int) -> Draft:
    """Turn op determinism on; it does not fix the weighted bincount at this line, for which there is another op.
    Both change bits, so neither is safe to apply automatically."""
    for call in module.calls_at(line):
        if module.name(call) == "tensorflow.math.bincount" and argument(call, "weights", 1) is not None:
            return _segment_sum(module, call)
    require(module.is_program and not module.calls(_SWITCH))
    function, behind = sure(module.spelled(_SWITCH, module.tree))
    changes = after_imports(module, behind, None, f"{function}()", before_line=line)
    note = "turn op determinism on; it changes the bits of other ops too, and can be slower"
    return Draft(changes, note, safe=False)


def _segment_sum(module: Module, call: cst.Call) -> Draft:
    """bincount(values, weights, n, n) is unsorted_segment_sum(weights, values, n) for vectors."""
    given = [argument(call, name, position) for position, name in enumerate(_BINCOUNT)]
    values, weights, minlength, maxlength = (each and module.code(each) for each in given)
    # Without both lengths the result's length depends on the data.
    require(not unpacks(call) and len(call.args) == len(_BINCOUNT) and minlength == maxlength)
    base = module.code(cst.ensure_type(call.func, cst.Attribute).value)
    after = f"{base}.unsorted_segment_sum({weights}, {values}, num_segments={minlength})"
    note = "op determinism does not fix the weighted bincount; for vectors this op adds in a fixed order"
    return Draft((edit.replace(call, after),), note, safe=False)
