"""Reading variables without a copy, one by one or all of them in one op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context
from tensorflow.python.framework import op_def_library

from twinrun.frameworks.tensorflow.tensors import OPAQUE, EagerTensor
from twinrun.twin.callers import unseen

_MOST_FAILURES = 3


def read(variable: Any) -> np.ndarray | None:
    """The variable's own memory, not copied. While it is kept, TensorFlow copies at the next update."""
    handle = variable._handle
    if not isinstance(handle, EagerTensor):  # in a graph, without a value that could be read from outside
        return None
    return read_handle(handle, variable._dtype.as_datatype_enum, size_of(variable))


def read_handle(handle: Any, kind: int, size: int) -> np.ndarray | None:
    """The same by the variable's handle, the number of its type, and its size in bytes (0: not known)."""
    try:
        tensor = pywrap_tfe.TFE_Py_FastPathExecute(
            context.context(), "ReadVariableOp", None, handle, "dtype", kind
        )
    except (tf.errors.FailedPreconditionError, tf.errors.NotFoundError):  # not initialised yet, or gone
        return None
    if tensor._datatype_enum() in OPAQUE:
        return None
    array = _array(tensor)
    # A variable that a tf.function has made and not yet initialised reads as empty.
    return None if array.size == 0 and size else array


class Together:
    """Several variables read by one op, which costs a fifth of reading them one by one. It keeps their handles, and with
    them their memory: it must be dropped when one of the variables dies."""

    def __init__(self, handles: Sequence[Any], kinds: Sequence[int]) -> None:
        self._handles = list(handles)
        self._kinds = list(kinds)  # the numbers of their types
        self._failures = 0

    def read(self) -> list[np.ndarray] | None:
        """The values, or None where that is not possible: one is not initialised, they are on several devices, or this release of
        TensorFlow has no such op. The caller then reads them one by one."""
        if self._failures >= _MOST_FAILURES:
            return None
        try:
            tensors = pywrap_tfe.TFE_Py_FastPathExecute(
                context.context(), "_ReadVariablesOp", None, self._handles, "dtypes", self._kinds
            )
        except Exception:
            self._failures += 1
            return None
        arrays = [_array(tensor) for tensor in tensors]
        return None if 0 in [array.size for array in arrays] else arrays


class Packed:
    """Very many small variables read by one call that copies them into one array for each type and shape: a fifth of what
    one op costs that gives each of them a tensor of its own. It keeps their memory as Together does."""

    def __init__(
        self, handles: Sequence[Any], kinds: Sequence[int], shapes: Sequence[tuple[int, ...]]
    ) -> None:
        """Raises where that is not possible here."""
        device = handles[0].device
        if not device.endswith("CPU:0") or any(handle.device != device for handle in handles):
            raise ValueError("variables on several devices, or on a GPU")
        groups: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for number, group in enumerate(zip(kinds, shapes, strict=True)):
            groups.setdefault(group, []).append(number)
        self.order = [number for members in groups.values() for number in members]
        types = [kind for kind, _ in groups]
        lengths = [len(members) for members in groups.values()]
        dtypes = [tf.as_dtype(kinds[number]) for number in self.order]

        def read_all(packed: Any) -> list[Any]:
            with tf.device(device):
                each = tf.raw_ops.Unpack(value=packed, num=len(handles))
                values = op_def_library.apply_op(
                    "_ReadVariablesOp", resources=each, dtypes=dtypes, name="read"
                )
                ends = [sum(lengths[: number + 1]) for number in range(len(lengths))]
                return [
                    tf.raw_ops.Pack(values=values[end - length : end])
                    for end, length in zip(ends, lengths, strict=True)
                ]

        with tf.device(device):
            self._handles = tf.raw_ops.Pack(values=[handles[number] for number in self.order])
        signature = [tf.TensorSpec([len(handles)], tf.resource)]
        traced = tf.function(read_all, autograph=False, input_signature=signature)
        self._function = traced.get_concrete_function()
        # In the thread that asks: a callback may be holding the only thread that TensorFlow has.
        how = ("Tout", types, "f", self._function.name, "executor_type", "SINGLE_THREADED_EXECUTOR")
        self._how = how

    def read(self) -> list[np.ndarray] | None:
        """One array for each group, whose rows are the variables, in `order`. None where one of them has no value."""
        try:
            with unseen():
                tensors = pywrap_tfe.TFE_Py_FastPathExecute(
                    context.context(), "StatefulPartitionedCall", None, [self._handles], *self._how
                )
        except Exception:
            return None
        return [_array(tensor) for tensor in tensors]


def _array(tensor: Any) -> np.ndarray:
    found = tensor._numpy_internal()
    return found if type(found) is np.ndarray else np.asarray(found)


def size_of(variable: Any) -> int:
    """In bytes; 0 where it is not known."""
    try:
        return int(variable.shape.num_elements() or 0) * int(variable.dtype.size)
    except (TypeError, ValueError, AttributeError):
        return 0


def shape_of(variable: Any) -> tuple[int, ...] | None:
    """The shape. None where it is not known, or where the elements are no numbers."""
    dtype = variable.dtype
    if not (dtype.is_floating or dtype.is_integer or dtype.is_bool or dtype.is_complex):
        return None
    return tuple(variable.shape) if variable.shape.is_fully_defined() else None
