"""A dataset's graph as TensorFlow itself serializes it: authoritative, but it copies all the data it holds."""

from __future__ import annotations

from typing import Any

from twinrun.pipelines.graph_walk import walk

MAX_BYTES = 256 << 20  # a dataset that holds more is not serialized


class NotSerialized(Exception):
    """TensorFlow cannot serialize this dataset, or it would cost too much."""


def serialized_graph(dataset: Any) -> Any:
    """TensorFlow's own graph of a dataset. It copies what the dataset holds, so large ones are refused."""
    from tensorflow.core.framework import graph_pb2
    from tensorflow.python.data.ops import options
    from tensorflow.python.framework import ops

    if not isinstance(dataset._variant_tensor, ops.EagerTensor):
        raise NotSerialized("it was built inside a tf.function")
    held = _held_bytes(dataset)
    if held > MAX_BYTES:
        raise NotSerialized(f"it holds {held >> 20} MB in memory, too much to serialize")
    policy = options.ExternalStatePolicy.IGNORE
    try:
        with ops.init_scope():
            serialized = dataset._as_serialized_graph(external_state_policy=policy).numpy()
    except Exception as problem:
        raise NotSerialized(f"TensorFlow cannot serialize it ({type(problem).__name__})") from None
    return graph_pb2.GraphDef.FromString(serialized)


def _held_bytes(dataset: Any) -> int:
    """How much a pipeline holds in memory: its source tensors, and what its functions have captured."""

    def below(one: Any) -> list[Any]:
        wrapped = (one.__dict__.get(name) for name in ("_impl", "_dataset"))
        return [*one._inputs(), *(inner for inner in wrapped if hasattr(inner, "_variant_tensor"))]

    total = 0
    for one in walk(dataset, below):
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
    """The names of the nodes that feed `root`, not looking behind those in `cut`."""
    nodes = {node.name: node for node in graph.node}

    def feeding(name: str) -> list[str]:
        return [one.lstrip("^").partition(":")[0] for one in nodes[name].input if name not in cut]

    return set(walk(root, feeding, key=str))
