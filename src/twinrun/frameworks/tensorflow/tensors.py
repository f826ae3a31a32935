"""Tensors as the recorder wants them: named leaves of a structure, a digest for each, and their values on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

from twinrun.frameworks.tensorflow import device_digest
from twinrun.recording.digest import digest_array
from twinrun.recording.frame import DEVICE, HOST, joined_kinds
from twinrun.twin.block import Block, scalars

# Taken by its name: making a tensor to get its type would start the runtime before the program configures it.
EagerTensor = ops.EagerTensor
# Types without bits to compare, by number: a tensor's type object is slower to get than its memory.
OPAQUE = (tf.variant.as_datatype_enum, tf.resource.as_datatype_enum)
Named = tuple[str, Any]
_PARTS = {"sparse": ("indices", "values", "dense_shape"), "slices": ("values", "indices")}
_REST = " and all that follow"
_POSITIONS = ("x", "y", "sample_weight")  # what Keras calls the members of a batch


def leaves(structure: Any, name: str = "") -> Iterator[Named]:
    """Every tensor in a structure under a name that means something: `x`, `y`, a dictionary's key, `x/0`."""
    form = _form(type(structure))  # type: ignore[arg-type]
    if form == "tensor":
        yield name or "x", structure
    elif form == "mapping":
        for key in structure:
            yield from leaves(structure[key], _join(name, str(key)))
    elif form == "fields":
        for key in structure._fields:
            yield from leaves(getattr(structure, key), _join(name, key))
    elif form == "sequence":
        batch = not name and isinstance(structure, tuple) and 1 <= len(structure) <= len(_POSITIONS)
        for index, member in enumerate(structure):
            yield from leaves(member, _POSITIONS[index] if batch else _join(name, str(index)))
    elif form == "replicas":
        for replica, value in enumerate(structure.values):
            for own, leaf in leaves(value, name):
                yield (f"{own}/replica_{replica}" if replica else own), leaf
    elif form == "ragged":
        yield _join(name or "x", "values"), structure.flat_values
        for depth, splits in enumerate(structure.nested_row_splits):
            yield _join(name or "x", f"row_splits_{depth}"), splits
    elif form in _PARTS:
        for part in _PARTS[form]:
            yield _join(name or "x", part), getattr(structure, part)


@lru_cache(maxsize=1024)
def _form(kind: Any) -> str | None:
    """How a type holds tensors. Cached: isinstance is slow for TensorFlow's types, and this is asked for everything that
    goes into a step and comes out of it."""
    if issubclass(kind, Mapping):
        return "mapping"
    if hasattr(kind, "_fields"):  # a namedtuple
        return "fields"
    if issubclass(kind, (tuple, list)):
        return "sequence"
    for form, types in _FORMS.items():
        if issubclass(kind, types):
            return form
    return None


_FORMS: dict[str, Any] = {
    "ragged": tf.RaggedTensor,
    "sparse": tf.SparseTensor,
    "slices": tf.IndexedSlices,
    "tensor": (tf.Tensor, np.ndarray, np.generic),
    "replicas": tf.distribute.DistributedValues,
}


def has_bits(tensor: Any) -> bool:
    """Whether a symbolic tensor will have a value that a host callback can be given."""
    return isinstance(tensor, tf.Tensor) and tensor.dtype not in (tf.variant, tf.resource)


def _join(name: str, part: str) -> str:
    return f"{name}/{part}" if name else part


def as_array(tensor: Any) -> np.ndarray | None:
    """The tensor's own memory where it can be shared, else a copy. None for what has no bits."""
    if isinstance(tensor, EagerTensor):
        return None if tensor._datatype_enum() in OPAQUE else np.asarray(tensor._numpy_internal())
    if isinstance(tensor, (np.ndarray, np.generic, int, float, bool)):
        return np.asarray(tensor)
    return None


def rank_of(tensor: Any) -> int | None:
    if isinstance(tensor, EagerTensor):
        return int(tensor._rank())  # its shape takes ten times as long to get
    shape = getattr(tensor, "shape", None)
    return None if shape is None else len(shape)


def block(phase: str, structure: Any, name: str = "") -> Block | None:
    """A block of everything in a structure that has bits."""
    return block_of(phase, leaves(structure, name))


def block_of(phase: str, named: Iterable[Named]) -> Block | None:
    """A block of those tensors that have bits. Keeps references, so that it can be dumped later."""
    found = [(name, seen) for name, leaf in named if (seen := _seen(leaf)) is not None]
    if not found:
        return None
    kept = [value for _, (_, _, value) in found]
    return Block(
        phase,
        tuple(name for name, _ in found),
        [digest for _, (digest, _, _) in found],
        lambda number: as_array(kept[number]),
        scalars(kept),
        joined_kinds(kind for _, (_, kind, _) in found),
        sum(map(_bytes, kept)),
    )


def _seen(tensor: Any) -> tuple[int, str, Any] | None:
    """Its digest, the kind of the digest, and what its value can be read from later. None for what has no bits."""
    if isinstance(tensor, EagerTensor) and (digest := device_digest.digest_large(tensor)) is not None:
        return digest, DEVICE, tensor
    array = as_array(tensor)
    return None if array is None else (digest_array(array), HOST, array)


def _bytes(value: Any) -> int:
    return int(value._num_elements() * value.dtype.size if isinstance(value, EagerTensor) else value.nbytes)


def folded(rest: Block, more: Block) -> Block:
    """One block that stands for both, and for all that was folded into `rest` before: its digest depends on every one."""
    name = rest.names[0] if rest.names[0].endswith(_REST) else f"{rest.names[0]}{_REST}"
    return Block(rest.phase, (name,), [digest_array(np.array([*rest.digests, *more.digests], np.uint64))])
