"""Ops of one run of a graph that clash: both use a variable, at least one changes it, and neither waits for the other.
Then the run itself has no fixed order, whatever is seeded. In graphs built for sessions nothing orders such ops but
what the author asks for."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import combinations
from typing import Any

import msgspec

from twinrun.protocol.event import relative
from twinrun.twin.callers import user_line

# Ops that change a variable, which is their first input.
CHANGES = re.compile(r"(Resource)?(Sparse)?(Apply|Scatter|StridedSliceAssign)|Assign")
VARIABLE = re.compile(r"VarHandleOp$|Variable(V2)?$")
_PASSES_ON = ("Identity", "Switch", "RefSwitch", "Enter", "RefEnter", "RefIdentity")


class Use(msgspec.Struct, frozen=True):
    """One op's use of the variable. `place` is the line that made the op."""

    op: str
    place: str
    changes: bool

    def __str__(self) -> str:
        return f"{self.op} ({self.place})" if self.place else self.op


class Clash(msgspec.Struct, frozen=True):
    variable: str
    uses: tuple[Use, Use]


def find_clash(ops: Mapping[str, Any], fed: Collection[str]) -> Clash | None:
    """The first clash among these ops, two changes before a change and a read. Ops in loops and branches are left
    out: which of them run is known only when they do."""
    users: dict[str, dict[str, Use]] = {}
    for op in ops.values():
        if (
            op.type == "VarIsInitializedOp"
            or op.type in _PASSES_ON
            or op._get_control_flow_context() is not None
        ):
            continue
        for tensor, argument in zip(
            op.inputs, [*op.op_def.input_arg, *[None] * len(op.inputs)], strict=False
        ):
            variable = _variable(tensor)
            if variable is not None:
                changes = CHANGES.match(op.type) is not None and _is_changed(tensor, argument)
                before = users.setdefault(variable, {}).get(op.name)
                users[variable][op.name] = Use(
                    op.name, "", changes or (before is not None and before.changes)
                )
    shared = {
        variable: list(uses.values())
        for variable, uses in sorted(users.items())
        if len(uses) > 1 and any(use.changes for use in uses.values())
    }
    number = {name: n for n, name in enumerate({use.op for uses in shared.values() for use in uses})}
    waits = _waits_for(ops, fed, number) if shared else {}
    clashes = [
        Clash(variable, (one, other))
        for variable, uses in shared.items()
        for one, other in combinations(sorted(uses, key=lambda use: use.op), 2)
        if (one.changes or other.changes)
        and not waits[one.op] >> number[other.op] & 1
        and not waits[other.op] >> number[one.op] & 1
    ]
    if not clashes:
        return None
    first = min(clashes, key=lambda clash: not all(use.changes for use in clash.uses))
    one, other = (msgspec.structs.replace(use, place=_place(ops[use.op])) for use in first.uses)
    return Clash(first.variable, (one, other))


def _is_changed(tensor: Any, argument: Any) -> bool:
    """Whether this input of an op is a variable that the op changes, and not a value that it reads."""
    return tensor.dtype.base_dtype.name == "resource" or bool(argument is not None and argument.is_ref)


def _variable(tensor: Any) -> str | None:
    """The variable whose handle, reference or memory this is. What reads a reference shares its memory: the value is
    taken by the op that uses it."""
    op = tensor.op
    while op.type in _PASSES_ON and len(op.inputs) and _refers(op.inputs[0]):
        op = op.inputs[0].op
    return str(op.name) if VARIABLE.match(op.type) else None


def _refers(tensor: Any) -> bool:
    return bool(tensor.dtype.base_dtype.name == "resource" or tensor.dtype._is_ref_dtype)


def _waits_for(ops: Mapping[str, Any], fed: Collection[str], number: Mapping[str, int]) -> dict[str, int]:
    """For each op, which of the numbered ones run before it: one bit for each. An edge that closes a loop is left out."""
    before: dict[str, int] = {}
    opened: set[str] = set()
    for op in ops.values():
        left = [op]
        while left:
            now = left[-1]
            if now.name in before:
                left.pop()
                continue
            inputs = [tensor.op for tensor in now.inputs if tensor.name not in fed]
            needs = [one for one in (*inputs, *now.control_inputs) if one.name in ops]
            if now.name not in opened:
                opened.add(now.name)
                left += [one for one in needs if one.name not in opened]
                continue
            left.pop()
            bits = 0
            for one in needs:
                bits |= before.get(one.name, 0)
                if one.name in number:
                    bits |= 1 << number[one.name]
            before[now.name] = bits
    return before


def _place(op: Any) -> str:
    file, line = user_line(op.traceback)
    return f"{relative(file)}:{line}" if file else ""
