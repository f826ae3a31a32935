"""What a dataset op was given: the datasets it works on, and its arguments where their values are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from twinrun.pipelines.graph_walk import walk
from twinrun.pipelines.random_ops import is_stateless_draw

# Inside a function TensorFlow makes a seed by comparing and selecting constants.
_FOLDED: dict[str, Callable[..., Any]] = {
    "Cast": lambda value: value,
    "Equal": np.equal,
    "Identity": lambda value: value,
    "LogicalAnd": np.logical_and,
    "Select": np.where,
    "SelectV2": np.where,
}


def inputs_by_name(op: Any) -> Iterator[tuple[Any, list[Any]]]:
    """The definition of each input of an op, and the tensors given for it."""
    place = 0
    for arg in op.op_def.input_arg:
        count = 1
        if arg.number_attr:
            count = op.get_attr(arg.number_attr)
        elif arg.type_list_attr:
            count = len(op.get_attr(arg.type_list_attr))
        yield arg, list(op.inputs)[place : place + count]
        place += count


def dataset_inputs(op: Any) -> list[Any]:
    """The datasets that a dataset op works on, without those that its functions have captured."""
    from tensorflow.core.framework import types_pb2

    return [one for arg, given in inputs_by_name(op) if arg.type == types_pb2.DT_VARIANT for one in given]


def argument(op: Any, name: str) -> Any:
    """A dataset op's argument or attribute, when it is known before running. None when it is not."""
    tensor = argument_tensor(op, name)
    if tensor is not None:
        value = _static(_outside(tensor))
        value = value.item() if hasattr(value, "item") else value
    else:
        try:
            value = op.get_attr(name)
        except ValueError:
            return None
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def argument_tensor(op: Any, name: str) -> Any:
    """The tensor given for a named input of an op. None when the op has no such input, or a list of them."""
    for arg, given in inputs_by_name(op):
        if arg.name == name and not arg.number_attr and not arg.type_list_attr:
            return given[0]
    return None


def argument_list(op: Any, name: str) -> list[Any]:
    """The tensors given for a named list of inputs, such as what a function has captured."""
    return next((given for arg, given in inputs_by_name(op) if arg.name == name), [])


def with_shapes_of(op: Any, outputs: list[Any]) -> list[Any]:
    """What replaces the outputs of an op, with their static shapes."""
    for new, old in zip(outputs, op.outputs, strict=True):
        new.set_shape(old.shape)
    return outputs


def past_identities(op: Any) -> Any:
    while op.type == "Identity":
        op = op.inputs[0].op
    return op


def is_drawn_by_key(tensor: Any) -> bool:
    """Whether a value comes from a stateless draw: computed, and the same in every run."""

    def before(one: Any) -> list[Any]:
        return [_outside(each) for each in one.op.inputs] if hasattr(one, "graph") else []

    found = walk(_outside(tensor), before, key=lambda one: getattr(one, "name", None))
    return any(hasattr(one, "graph") and is_stateless_draw(one.op.type) for one in found)


def _static(tensor: Any) -> Any:
    """A tensor's value, if it is a constant or computed from constants."""
    import tensorflow as tf

    value = tf.get_static_value(tensor)
    fold = _FOLDED.get(tensor.op.type) if value is None and hasattr(tensor, "graph") else None
    if fold is None:
        return value
    inputs = [_static(one) for one in tensor.op.inputs]
    return None if any(one is None for one in inputs) else fold(*inputs)


def _outside(tensor: Any) -> Any:
    """The tensor that a graph has captured from outside, where the value may be known."""
    while hasattr(tensor, "graph") and tensor.op.type == "Placeholder":
        captures = getattr(tensor.graph, "captures", ())
        outer = next((outer for outer, inner in captures if inner is tensor), None)
        if outer is None:
            break
        tensor = outer
    return tensor
