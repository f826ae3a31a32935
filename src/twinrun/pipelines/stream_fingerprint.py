"""The fingerprint of a stream of elements: one digest that depends on the order, one that does not.

Equal ordered digests: the same data in the same order. Unequal ordered and equal unordered digests: the same
data in another order. Unequal unordered digests: other data.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash

from twinrun.errors import TwinrunError, UsageError
from twinrun.pipelines.autograph import unconverted

_SPACE = 1 << 128


class CannotFingerprint(TwinrunError):
    """An element that has no bits to digest, or a dataset that stopped in the middle."""


@dataclass(frozen=True)
class EpochFingerprint:
    """The fingerprint of one epoch (or of one worker's part of it)."""

    ordered: str
    unordered: str
    elements: int


@dataclass(frozen=True)
class DataFingerprint(EpochFingerprint):
    """The fingerprint of all epochs together, and of each."""

    epochs: tuple[EpochFingerprint, ...]
    complete: bool = True  # False: `limit` cut it short

    def compared_with(self, other: DataFingerprint) -> str:
        """`same`, `same data, other order`, or `other data`."""
        if self.elements != other.elements or self.unordered != other.unordered:
            return "other data"
        return "same" if self.ordered == other.ordered else "same data, other order"

    def __str__(self) -> str:
        cut = "" if self.complete else " (cut short)"
        lines = [f"{self.elements} elements{cut}, ordered {self.ordered}, unordered {self.unordered}"]
        for number, epoch in enumerate(self.epochs if len(self.epochs) > 1 else ()):
            digests = f"ordered {epoch.ordered}, unordered {epoch.unordered}"
            lines.append(f"  epoch {number}: {epoch.elements} elements, {digests}")
        return "\n".join(lines)


class ElementDigest:
    """A running fingerprint: `add` every element, call `fingerprint()` at any time."""

    def __init__(self) -> None:
        self.elements = 0
        self._ordered = xxhash.xxh3_128()
        self._sum = 0

    def add(self, element: Any) -> int:
        """Add one element. Returns its own digest."""
        digest = element_digest(element)
        self.add_digest(digest)
        return digest

    def add_digest(self, digest: int) -> None:
        """Add an element by its digest."""
        self._ordered.update(digest.to_bytes(16, "little"))
        # A sum and not an exclusive or: two equal elements must not cancel each other.
        self._sum = (self._sum + digest) % _SPACE
        self.elements += 1

    def fingerprint(self) -> EpochFingerprint:
        return EpochFingerprint(self._ordered.hexdigest(), f"{self._sum:032x}", self.elements)


@unconverted
def data_fingerprint(dataset: Any, epochs: int = 1, limit: int | None = None) -> DataFingerprint:
    """Iterate a dataset and fingerprint its elements. `limit` bounds the elements of each epoch.

    An endless dataset needs a `limit`. Any iterable of tensors, arrays and structures of them will do.
    """
    if not isinstance(epochs, int) or epochs < 1:
        raise UsageError(f"data_fingerprint: epochs must be at least 1, not {epochs!r}")
    refuse_in_graph(dataset)
    if limit is None and is_endless(dataset):
        raise UsageError(
            "the dataset has no end",
            hint="data_fingerprint(ds, limit=1000), or take() as many elements as an epoch has",
        )
    whole, parts, complete = ElementDigest(), [], True
    for _ in range(epochs):
        part = ElementDigest()
        complete &= _read_epoch(dataset, limit, part, whole)
        parts.append(part.fingerprint())
    total = whole.fingerprint()
    return DataFingerprint(total.ordered, total.unordered, total.elements, tuple(parts), complete)


def _read_epoch(dataset: Iterable[Any], limit: int | None, *into: ElementDigest) -> bool:
    """One epoch, up to the limit. Returns whether it reached its end."""
    taken = 0
    elements = iter(dataset)
    while limit is None or taken < limit:
        try:
            element = next(elements)
        except StopIteration:
            return True
        except TwinrunError:
            raise
        except Exception as problem:
            raise CannotFingerprint(
                f"the dataset raised after {taken} elements: {type(problem).__name__}: {first_line(problem)}",
                hint="fingerprint the part before it with limit=…",
            ) from problem
        digest = element_digest(element)
        for one in into:
            one.add_digest(digest)
        taken += 1
    return False


def refuse_in_graph(dataset: Any) -> None:
    """Inside a tf.function a dataset's elements are symbolic and have no bits."""
    if not hasattr(dataset, "_variant_tensor"):
        return
    import tensorflow as tf

    if not tf.executing_eagerly() or not hasattr(dataset._variant_tensor, "numpy"):
        raise CannotFingerprint(
            "inside a tf.function a dataset's elements have no bits yet",
            hint="build the dataset, and look at its elements, outside the function",
        )


def first_line(problem: BaseException) -> str:
    return (str(problem).splitlines() or [""])[0]


def is_endless(dataset: Any) -> bool:
    known: Any = dataset.cardinality() if hasattr(dataset, "cardinality") else None
    return hasattr(known, "numpy") and int(known.numpy()) == -1


def element_digest(element: Any) -> int:
    """128 bits for one element: structure, names, types, shapes and bits of everything in it."""
    hasher = xxhash.xxh3_128()
    _update(hasher, element)
    return hasher.intdigest()


def _update(hasher: Any, value: Any, name: str = "element") -> None:
    parts = _COMPOSITES.get(type(value).__name__)
    if isinstance(value, dict):
        hasher.update(b"{%d" % len(value))
        for key in sorted(value, key=str):
            hasher.update(f"{key}:".encode())
            _update(hasher, value[key], f"{name}[{key!r}]")
    elif isinstance(value, (tuple, list)):
        hasher.update(b"(%d" % len(value))
        for position, one in enumerate(value):
            _update(hasher, one, f"{name}[{position}]")
    elif value is None:
        hasher.update(b"none")
    elif parts is not None:
        mark, attributes = parts
        hasher.update(mark)
        _update(hasher, attributes(value), name)
    elif hasattr(value, "element_spec"):  # a dataset as an element: a window
        hasher.update(b"dataset")
        for one in value:
            _update(hasher, one, name)
    else:
        _update_array(hasher, _array(value, name))


_COMPOSITES: dict[str, tuple[bytes, Callable[[Any], tuple[Any, ...]]]] = {
    "RaggedTensor": (b"ragged", lambda value: (value.flat_values, *value.nested_row_splits)),
    "SparseTensor": (b"sparse", lambda value: (value.indices, value.values, value.dense_shape)),
    "IndexedSlices": (b"slices", lambda value: (value.indices, value.values)),
}


def _array(value: Any, name: str) -> np.ndarray:
    """The bits of a tensor, without a copy when they are in host memory."""
    if hasattr(value, "_numpy"):
        if value.dtype.name in ("variant", "resource"):
            raise CannotFingerprint(
                f"{name} is a {value.dtype.name} tensor, which has no bits to digest",
                hint="map it to tensors before fingerprinting",
            )
        return np.asarray(value._numpy())
    if hasattr(value, "numpy"):
        return np.asarray(value.numpy())
    return np.asarray(value)


def _update_array(hasher: Any, array: np.ndarray) -> None:
    hasher.update(f"{array.dtype.str}{array.shape}".encode())
    if array.dtype.hasobject:  # strings
        for text in array.ravel().tolist():
            data = text if isinstance(text, bytes) else str(text).encode()
            hasher.update(struct.pack("<q", len(data)))
            hasher.update(data)
        return
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    if array.dtype.kind == "V" or array.dtype.num > 23:  # bfloat16 and the like have no buffer of their own
        array = array.view(np.uint8 if array.ndim else f"u{array.dtype.itemsize}")
    hasher.update(array.data if array.ndim else array.tobytes())
