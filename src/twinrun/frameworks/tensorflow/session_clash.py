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
    users: dict[str, list[Any]] = {}
    for op in ops.values():
        if (
            op.type == "VarIsInitializedOp"
            or op.type in _PASSES_ON
            or op._get_control_flow_context() is not None
        ):
            continue
        for name in {variable for tensor in op.inputs if (variable := _variable(tensor))}:
            users.setdefault(name, []).append(op)
    shared = {name: found for name, found in users.items() if len(found) > 1 and any(map(_changes, found))}
    if not shared:
        return None
    number = {op.name: place for place, op in enumerate(op for found in shared.values() for op in found)}
    waits = _waits_for(ops, fed, number)
    clashes = [
        (name, pair)
        for name, found in sorted(shared.items())
        for pair in combinations(sorted(found, key=lambda op: str(op.name)), 2)
        if any(map(_changes, pair))
        and not waits[pair[0].name] >> number[pair[1].name] & 1
        and not waits[pair[1].name] >> number[pair[0].name] & 1
    ]
    if not clashes:
        return None
    variable, (one, other) = min(clashes, key=lambda clash: not all(map(_changes, clash[1])))
    return Clash(variable, (_use(one), _use(other)))


def _variable(tensor: Any) -> str | None:
    """The variable whose handle, reference or memory this is. What reads a reference shares its memory: the value is
    taken by the op that uses it."""
    op = tensor.op
    while op.type in _PASSES_ON and len(op.inputs) and _refers(op.inputs[0]):
        op = op.inputs[0].op
    return str(op.name) if VARIABLE.match(op.type) else None


def _refers(tensor: Any) -> bool:
    return bool(tensor.dtype.base_dtype.name == "resource" or tensor.dtype._is_ref_dtype)


def _changes(op: Any) -> bool:
    return CHANGES.match(op.type) is not None


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


def _use(op: Any) -> Use:
    file, line = user_line(op.traceback)
    return Use(str(op.name), f"{relative(file)}:{line}" if file else "", _changes(op))
