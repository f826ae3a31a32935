"""What a run of a graph would do, read from the graph alone: which variables it updates, and which elements it draws.
Nothing is added to the graph: that would change it, and it may be finalized."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from tensorflow.python.framework import dtypes, ops

from twinrun.frameworks.tensorflow.session_clash import CHANGES, VARIABLE, Clash, find_clash

# Of the ops that change a variable, those that may also be what initialises it.
_PLAIN = ("Assign", "AssignVariableOp")
_DRAWS = re.compile(r"IteratorGetNext(Sync)?$|Queue(Dequeue|DequeueMany|DequeueUpTo)(V2)?$")
_OPAQUE = (dtypes.variant, dtypes.resource)


@dataclass(frozen=True)
class Plan:
    """What one run does, by its fetches, its targets and what is fed."""

    updates: tuple[str, ...]  # the ops that train; without any, the run is no step
    drawn: tuple[Any, ...]  # tensors of the elements that it draws itself
    evaluates: bool = False  # it updates nothing, and fetches what depends on variables
    clash: Clash | None = None  # of two of its ops, over a variable


@dataclass
class Knowledge:
    """What is known of one graph. Kept by the graph itself: they die together."""

    plans: dict[Any, Plan] = field(default_factory=dict)
    harmless: set[str] = field(default_factory=set)  # ops that depend on no update and draw nothing


def plan_of(graph: Any, asked: list[Any], fed: list[Any]) -> Plan:
    """`asked`: tensors and operations; `fed`: tensors. Worked out once for the same names: graphs only grow."""
    known: Knowledge | None = getattr(graph, "_twinrun_session", None)
    if known is None:
        known = graph._twinrun_session = Knowledge()
    key = (tuple(one.name for one in asked), tuple(sorted(one.name for one in fed)))
    found = known.plans.get(key)
    if found is None:
        found = known.plans[key] = _plan(graph, known, asked, {one.name for one in fed})
    return found


def _plan(graph: Any, known: Knowledge, asked: list[Any], fed: set[str]) -> Plan:
    seen = _ops_run(asked, fed, known.harmless)
    cut = any(tensor.name in fed and len(tensor.op.inputs) for op in seen.values() for tensor in op.inputs)
    untrained = _untrained(graph)
    updates = sorted(op.name for op in seen.values() if _updates(graph, op, untrained))
    draws = [op for op in seen.values() if _DRAWS.match(op.type) and op._get_control_flow_context() is None]
    if not updates and not draws and not cut:
        known.harmless.update(seen)
    drawn = [
        tensor
        for op in sorted(draws, key=lambda op: str(op.name))
        for tensor in op.outputs
        if tensor.dtype not in _OPAQUE and tensor.name not in fed
    ]
    clash = find_clash(_ops_run(asked, fed), fed) if updates else None
    return Plan(tuple(updates), tuple(drawn), not updates and _evaluates(asked, fed), clash)


def _ops_run(asked: list[Any], fed: set[str], apart_from: Collection[str] = ()) -> dict[str, Any]:
    """The ops that a run executes, by name."""
    found: dict[str, Any] = {}
    left = [getattr(one, "op", one) for one in asked if one.name not in fed]
    while left:
        op = left.pop()
        if op.name not in found and op.name not in apart_from:
            found[op.name] = op
            left += [tensor.op for tensor in op.inputs if tensor.name not in fed]
            left += op.control_inputs
    return found


def _evaluates(asked: list[Any], fed: set[str]) -> bool:
    left = [one.op for one in asked if hasattr(one, "op") and one.name not in fed]
    seen: set[str] = set()
    while left:
        op = left.pop()
        if op.name not in seen:
            seen.add(op.name)
            if VARIABLE.match(op.type):
                return True
            left += [tensor.op for tensor in op.inputs if tensor.name not in fed]
    return False


def _untrained(graph: Any) -> set[str]:
    """Variables that are no state of training, such as the counters of metrics."""
    keys = (ops.GraphKeys.LOCAL_VARIABLES, ops.GraphKeys.METRIC_VARIABLES)
    return {variable.op.name for key in keys for variable in graph.get_collection(key)}


def _updates(graph: Any, op: Any, untrained: Collection[str]) -> bool:
    """Whether it changes a variable depending on the value it has. A value that has nothing to do with the present one
    (the initial one, one restored, one copied from another network) is no update, nor is counting."""
    if not len(op.inputs):
        return False
    if not CHANGES.match(op.type):
        return any(_trains(graph, name, set()) for name in _functions(op.node_def))
    first = op.inputs[0]
    if first.dtype != dtypes.resource and not first.dtype._is_ref_dtype:
        return False  # ScatterNd and its like compute, and change nothing
    if first.op.name in untrained:
        return False
    others = [one.dtype.base_dtype for one in op.inputs[1:]]
    if not any(kind.is_floating or kind.is_complex for kind in others):
        return False
    return op.type not in _PLAIN or _depends(op.inputs[1], first.op)


def _depends(value: Any, variable: Any) -> bool:
    seen: set[str] = set()
    left = [value.op]
    while left:
        op = left.pop()
        if op.name in seen or op.type == "VarIsInitializedOp":
            continue
        seen.add(op.name)
        if op.name == variable.name:
            return True
        left += [one.op for one in op.inputs]
    return False


def _functions(node: Any) -> Iterator[str]:
    """The functions that a node calls: a tf.function, the branches of a condition, the body of a loop."""
    for value in node.attr.values():
        if value.HasField("func"):
            yield value.func.name
        yield from (one.name for one in value.list.func)


def _trains(graph: Any, name: str, seen: set[str]) -> bool:
    function = None if name in seen else graph._get_function(name)
    if function is None:
        return False
    seen.add(name)
    nodes = function.cached_definition.node_def
    changes = {node.op for node in nodes if CHANGES.match(node.op)}
    if any(one.startswith(("Resource", "Assign")) and one not in _PLAIN for one in changes):
        return True
    if changes & set(_PLAIN) and any(node.op == "ReadVariableOp" for node in nodes):
        return True
    return any(_trains(graph, one, seen) for node in nodes for one in _functions(node))
