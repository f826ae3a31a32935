"""The fingerprint of a stream of elements: one digest that depends on the order, one that does not.

Equal ordered digests: the same data in the same order. Unequal ordered and equal unordered digests: the same
data in another order. Unequal unordered digests: other data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash

from twinrun.errors import TwinrunError, UsageError
from twinrun.pipelines.autograph import unconverted
from twinrun.recording.digest import digest_array

_SPACE = 1 << 128


class CannotFingerprint(TwinrunError):
    """An element that has no bits to digest, or a dataset that stopped in the middle."""


@dataclass(frozen=True)
class EpochFingerprint:
    """The fingerprint of one epoch (or of one worker's part of it)."""

    ordered: str  # of the elements in their order
    unordered: str  # of the same elements in any order
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
        """The fingerprint of all elements so far."""
        return EpochFingerprint(self._ordered.hexdigest(), f"{self._sum:032x}", self.elements)


@unconverted
def data_fingerprint(dataset: Any, epochs: int = 1, limit: int | None = None) -> DataFingerprint:
    """Iterate a dataset and fingerprint its elements. `limit` bounds the elements of each epoch.

    An endless dataset needs a `limit`. Any iterable of tensors, arrays and structures of them works.
    """
    if not isinstance(epochs, int) or epochs < 1:
        raise UsageError(f"data_fingerprint: epochs must be at least 1, not {epochs!r}")
    whole, parts, complete = ElementDigest(), [], True
    for _ in range(epochs):
        part = ElementDigest()
        for element in elements_of(dataset, limit, "data_fingerprint(ds, limit=1000)"):
            digest = element_digest(element)
            part.add_digest(digest)
            whole.add_digest(digest)
        complete &= limit is None or part.elements < limit
        parts.append(part.fingerprint())
    total = whole.fingerprint()
    return DataFingerprint(total.ordered, total.unordered, total.elements, tuple(parts), complete)


def elements_of(dataset: Any, limit: int | None, with_limit: str) -> Iterator[Any]:
    """One epoch, up to the limit. `with_limit` is the call to write for a dataset that has no end."""
    refuse_in_graph(dataset)
    known: Any = dataset.cardinality() if hasattr(dataset, "cardinality") else None
    if limit is None and hasattr(known, "numpy") and int(known.numpy()) == -1:
        hint = f"{with_limit}, or take() as many elements as an epoch has"
        raise UsageError("the dataset has no end", hint=hint)
    elements, taken = iter(dataset), 0
    while limit is None or taken < limit:
        try:
            element = next(elements)
        except StopIteration:
            return
        except TwinrunError:
            raise
        except Exception as problem:
            why = (str(problem).splitlines() or [""])[0]
            raise CannotFingerprint(
                f"the dataset raised after {taken} elements: {type(problem).__name__}: {why}",
                hint="look at the part before it with limit=…",
            ) from problem
        yield element
        taken += 1


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
        hasher.update(digest_array(_array(value, name)).to_bytes(8, "little"))


_COMPOSITES: dict[str, tuple[bytes, Callable[[Any], tuple[Any, ...]]]] = {
    "RaggedTensor": (b"ragged", lambda value: (value.flat_values, *value.nested_row_splits)),
    "SparseTensor": (b"sparse", lambda value: (value.indices, value.values, value.dense_shape)),
    "IndexedSlices": (b"slices", lambda value: (value.indices, value.values)),
}


def _array(value: Any, name: str) -> np.ndarray:
    """The bits of a tensor, without a copy when they are in host memory."""
    kind = getattr(getattr(value, "dtype", None), "name", None)
    if kind in ("variant", "resource"):
        raise CannotFingerprint(
            f"{name} is a {kind} tensor, which has no bits to digest",
            hint="map it to tensors before fingerprinting",
        )
    for read in ("_numpy", "numpy"):
        if hasattr(value, read):
            value = getattr(value, read)()
    return np.asarray(value)
