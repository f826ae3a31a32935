"""A dataset's graph as TensorFlow itself writes it down: the truth, at the price of copying all it holds."""

from __future__ import annotations

from typing import Any

READABLE_BYTES = 256 << 20  # above this it is not asked for


class NotWritten(Exception):
    """TensorFlow cannot write this dataset down, or it would cost too much."""


def tensorflows_graph(dataset: Any) -> Any:
    """TensorFlow's own graph of a dataset. Copies what the dataset holds, so it is refused for large ones."""
    from tensorflow.core.framework import graph_pb2
    from tensorflow.python.data.ops import options
    from tensorflow.python.framework import ops

    if not isinstance(dataset._variant_tensor, ops.EagerTensor):
        raise NotWritten("it was built inside a tf.function")
    held = held_bytes(dataset)
    if held > READABLE_BYTES:
        raise NotWritten(f"it holds {held >> 20} MB in memory, too much to write down")
    try:
        with ops.init_scope():
            serialized = dataset._as_serialized_graph(
                external_state_policy=options.ExternalStatePolicy.IGNORE
            ).numpy()
    except Exception as problem:
        raise NotWritten(f"TensorFlow cannot write it down ({type(problem).__name__})") from None
    return graph_pb2.GraphDef.FromString(serialized)


def held_bytes(dataset: Any) -> int:
    """How much a pipeline holds in memory: its source tensors, and what its functions have captured."""
    total, seen, waiting = 0, set(), [dataset]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        waiting += one._inputs()
        for name in ("_impl", "_dataset"):
            inner = one.__dict__.get(name)
            if hasattr(inner, "_variant_tensor"):
                waiting.append(inner)
        tensors = list(one.__dict__.get("_tensors") or [])
        for function in one._functions():
            tensors += getattr(function.function, "captured_inputs", [])
        total += sum(_tensor_bytes(tensor) for tensor in tensors)
    return total


def _tensor_bytes(tensor: Any) -> int:
    size = tensor.shape.num_elements() if hasattr(tensor, "shape") else None
    return int(size or 0) * max(int(tensor.dtype.size), 1)


def root_of(graph: Any) -> str:
    return str(next(node.input[0] for node in graph.node if node.op == "_Retval"))


def reachable(graph: Any, root: str, cut: set[str]) -> set[str]:
    nodes = {node.name: node for node in graph.node}
    found, waiting = set(), [root]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        if name not in cut:
            waiting += [one.lstrip("^").partition(":")[0] for one in nodes[name].input]
    return found
