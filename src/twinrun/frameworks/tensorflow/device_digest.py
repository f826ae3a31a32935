"""Digests of tensors on a GPU, taken there: one compiled call for all of them, and only the digests travel.

A kernel for each variable would be slow to compile and to start. So large variables of one type and shape are summed by
one kernel, four at a time, where they lie; small ones of one type, whatever their shapes, are copied into one buffer first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np
import tensorflow as tf

from twinrun.frameworks.tensorflow.device_sums import joined, mixed, totals, unsigned
from twinrun.recording.sum_digest import STEP, WORD, finished, sum_digest
from twinrun.twin.callers import unseen
from twinrun.twin.session import Session, current

_NUMBERS = frozenset({
    tf.bfloat16, tf.float16, tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64,
    tf.bool, tf.complex64, tf.complex128,
})  # fmt: skip
_LARGE = 1 << 20  # bytes; a single tensor that is smaller is brought to the host as fast
_MOST_SHAPES = 64  # that are compiled one by one: a program with ever new shapes would wait for the compiler
_SMALL, _MOST_SMALL = 64 << 10, 4 << 20  # bytes of one that is copied, and of all of them
_raw = tf.raw_ops


@dataclass(frozen=True)
class Placed:
    """A variable on a GPU: its handle, type and shape."""

    handle: Any
    dtype: Any
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def size(self) -> int:
        return self.elements * int(self.dtype.size)

    def read(self) -> Any:
        value = _raw.ReadVariableOp(resource=self.handle, dtype=self.dtype)
        value.set_shape(self.shape)
        return value


class Together:
    """Variables on one device, digested by one compiled call. It keeps their handles, and with them their memory."""

    def __init__(self, variables: Sequence[Placed]) -> None:
        self._variables = variables
        self._device = variables[0].handle.device
        small, large = _parted(variables)
        with unseen(), tf.init_scope(), tf.device(self._device):
            buffers = [_Buffer(same) for same in _alike(small, lambda each: each.dtype.name)]
            groups = list(_alike(large, lambda each: (each.dtype.name, each.shape)))

            def all_totals() -> Any:
                found = [buffer.totals() for buffer in buffers]
                found += [tf.stack(totals([each.read() for each in group])) for group in groups]
                return tf.concat(found, 0)

            traced = tf.function(all_totals, autograph=False, jit_compile=True)
            self._function = traced.get_concrete_function()
        order = [each for same in (*(buffer.variables for buffer in buffers), *groups) for each in same]
        places = {id(each): place for place, each in enumerate(order)}
        self._places = [places[id(each)] for each in variables]
        self._begun: Any = None

    def begin(self) -> None:
        """The device digests them when it has done what it was given before; nobody waits for it."""
        # The program may be tracing, or using another device.
        with unseen(), tf.init_scope(), tf.device(self._device):
            self._begun = self._function()

    def forget(self) -> None:
        self._begun = None

    def digests(self) -> list[int]:
        """Raises where one of them has no value, or where they cannot be digested here."""
        if self._begun is None:
            self.begin()
        found = self._begun.numpy().tolist()
        self._begun = None
        return [
            finished(found[place], each.dtype.name, each.shape)
            for place, each in zip(self._places, self._variables, strict=True)
        ]


def _parted(variables: Sequence[Placed]) -> tuple[list[Placed], list[Placed]]:
    """Split tensors into those to be copied and those digested in place."""
    small: list[Placed] = []
    large: list[Placed] = []
    left = _MOST_SMALL
    for each in variables:
        copied = each.size <= min(_SMALL, left) and not each.dtype.is_complex
        left -= each.size if copied else 0
        (small if copied else large).append(each)
    return small, large


def _alike(variables: Sequence[Placed], kind: Callable[[Placed], Any]) -> Iterator[list[Placed]]:
    return (list(same) for _, same in groupby(sorted(variables, key=kind), kind))


class _Buffer:
    """Small variables of one type, one after the other. Where each word's elements lie in it, the word's position in its
    variable and the number of that variable are worked out once, and wait on the device."""

    def __init__(self, variables: list[Placed]) -> None:
        self.variables = variables
        per = WORD // variables[0].dtype.size
        total = sum(each.elements for each in variables)  # where a zero lies, for words that are not full
        elements: list[np.ndarray] = []  # for each word, one of each part
        positions, owners, start = [], [], 0
        for number, each in enumerate(variables):
            count, rest = divmod(each.elements, per)
            full = start + np.arange(count) + count * np.arange(per)[:, None]
            left = np.full((per, rest), total)
            left[:1] = start + per * count + np.arange(rest)
            elements.append(np.concatenate([full, left], axis=1))
            positions.append(np.arange(1, count + rest + 1, dtype=np.uint64))
            owners.append(np.full(count + rest, number))
            start += each.elements
        self._elements = [tf.constant(part, tf.int64) for part in np.concatenate(elements, axis=1)]
        self._steps = tf.constant(np.concatenate(positions) * np.uint64(STEP))
        self._owners = tf.constant(np.concatenate(owners), tf.int64)

    def totals(self) -> Any:
        flat = [unsigned(tf.reshape(each.read(), [-1])) for each in self.variables]
        bits = tf.concat([*flat, tf.zeros([1], flat[0].dtype)], 0)
        words = joined([tf.gather(bits, places) for places in self._elements])
        return tf.math.unsorted_segment_sum(mixed(words, self._steps), self._owners, len(self.variables))


# one tensor


@lru_cache(maxsize=4 * _MOST_SHAPES)
def _compiled(device: str, dtype: Any, shape: tuple[int, ...]) -> Any:
    """The digest of one such tensor, traced. Calling what was traced is no call of a `tf.function`, which would be taken for
    one of the program's, and it runs as compiled also where the program has its own functions run eagerly."""

    def total(value: Any) -> Any:
        return totals([value])[0]

    with unseen(), tf.init_scope(), tf.device(device):
        traced = tf.function(total, autograph=False, jit_compile=True)
        return traced.get_concrete_function(tf.TensorSpec(shape, dtype))


_shapes: set[tuple[int, tuple[int, ...]]] = set()


def is_better_there(dtype: Any, shape: tuple[int, ...], size: int) -> bool:
    """Whether a tensor is digested on its device alone. A small one is brought to the host, which gives the same digest."""
    kind = (dtype.as_datatype_enum, shape)
    if size >= _LARGE and kind not in _shapes and len(_shapes) < _MOST_SHAPES:
        _shapes.add(kind)
    return kind in _shapes


def digest_value(value: Any, device: str) -> int:
    """The digest of a tensor on this device."""
    dtype, shape = value.dtype, value._shape_tuple()
    with unseen(), tf.init_scope(), tf.device(device):
        return finished(int(_compiled(device, dtype, shape)(value).numpy()), dtype.name, shape)


def digest_large(tensor: Any) -> int | None:
    """The digest of a tensor that lies on a GPU. None where it does not, where the host is faster, or where the GPU
    fails: then all that lies on it is brought to the host from now on."""
    device = tensor.backing_device
    if tensor._num_elements() < _LARGE // 16 or not is_gpu(device) or not is_wanted(current()):
        return None
    dtype, shape = tensor.dtype, tensor._shape_tuple()
    if not can_digest(dtype, shape) or trouble_on(device):
        return None
    if not is_better_there(dtype, shape, tensor._num_elements() * dtype.size):
        return None
    try:
        return digest_value(tensor, device)
    except Exception as problem:
        _trouble[device] = why = in_words(problem)
        current().notes.append(
            f"batches and outputs on {device} are copied to the host, as it cannot digest them: {why}"
        )
        return None


def is_wanted(session: Session) -> bool:
    """Whether this twin may digest on a device. Not where it is compared with a twin on another, which has to digest in the
    same way; nor where every op is traced, as those of the digest would be among them."""
    return not session.device and not (session.spec is not None and session.spec.tracing)


def is_gpu(device: str) -> bool:
    return "GPU:" in device


def can_digest(dtype: Any, shape: Iterable[int] | None) -> bool:
    """Whether there are ops for it: none gives the bits of numbers that are smaller than those of _NUMBERS."""
    return shape is not None and dtype in _NUMBERS


_trouble: dict[str, str | None] = {}  # by device


def trouble_on(device: str) -> str | None:
    """Why this device cannot digest what lies on it; None where it can. Tried once, against the host."""
    if device not in _trouble:
        _trouble[device] = _tried(device)
    return _trouble[device]


def _tried(device: str) -> str | None:
    sample = np.arange(-9, 20, dtype=np.float32) / 7
    try:
        with tf.init_scope(), tf.device(device):
            found = digest_value(tf.constant(sample), device)
    except Exception as problem:
        return in_words(problem)
    return None if found == sum_digest(sample) else "it computes something else than the host"


def in_words(problem: Exception) -> str:
    return f"{type(problem).__name__}: {str(problem).partition(chr(10))[0][:200]}"
