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

from twinrun.recording.sum_digest import FIRST, SECOND, SHIFTS, STEP, WORD, finished, sum_digest
from twinrun.twin.session import current

_UNSIGNED = {1: tf.uint8, 2: tf.uint16, 4: tf.uint32, 8: tf.uint64}
_NUMBERS = frozenset({
    tf.bfloat16, tf.float16, tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64,
    tf.bool, tf.complex64, tf.complex128,
})  # fmt: skip
_LARGE = 1 << 20  # bytes; a single tensor that is smaller is brought to the host as fast
_MOST_SHAPES = 64  # that are compiled one by one: a program with ever new shapes would wait for the compiler
_SMALL, _MOST_SMALL = 64 << 10, 4 << 20  # bytes of one that is copied, and of all of them
_AT_ONCE = 4  # sums in one kernel
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
        with tf.init_scope(), tf.device(self._device):
            buffers = [_Buffer(same) for same in _alike(small, lambda each: each.dtype.name)]
            groups = list(_alike(large, lambda each: (each.dtype.name, each.shape)))

            def totals() -> Any:
                found = [buffer.totals() for buffer in buffers]
                found += [tf.stack(_totals([each.read() for each in group])) for group in groups]
                return tf.concat(found, 0)

            traced = tf.function(totals, autograph=False, jit_compile=True)
            self._function = traced.get_concrete_function()
        order = [each for same in (*(buffer.variables for buffer in buffers), *groups) for each in same]
        places = {id(each): place for place, each in enumerate(order)}
        self._places = [places[id(each)] for each in variables]
        self._begun: Any = None

    def begin(self) -> None:
        """The device digests them when it has done what it was given before; nobody waits for it."""
        with tf.init_scope(), tf.device(self._device):  # the program may be tracing, or using another device
            self._begun = self._function()

    def forget(self) -> None:
        self._begun = None

    def digests(self) -> list[int]:
        """Raises where one of them has no value, or where they cannot be digested here."""
        if self._begun is None:
            self.begin()
        totals = self._begun.numpy().tolist()
        self._begun = None
        return [
            finished(totals[place], each.dtype.name, each.shape)
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
        flat = [_unsigned(tf.reshape(each.read(), [-1])) for each in self.variables]
        bits = tf.concat([*flat, tf.zeros([1], flat[0].dtype)], 0)
        words = _joined([tf.gather(bits, places) for places in self._elements])
        return tf.math.unsorted_segment_sum(_mixed(words, self._steps), self._owners, len(self.variables))


def _totals(values: list[Any]) -> list[Any]:
    """Compute, for tensors of one type and shape, the sums that `recording.sum_digest` defines."""
    if values[0].dtype.is_complex:
        real, imaginary = ([part(value) for value in values] for part in (tf.math.real, tf.math.imag))
        first = _sums(real, 0)
        words = sum(divmod(values[0].shape.num_elements(), WORD // real[0].dtype.size))
        return [a + b for a, b in zip(first, _sums(imaginary, words), strict=True)]
    return _sums(values, 0)


def _sums(values: list[Any], at: int) -> list[Any]:
    """`at` is the position of their first word."""
    flat = [_unsigned(tf.reshape(value, [-1])) for value in values]
    per, size = WORD // flat[0].dtype.size, flat[0].shape[0]
    count, rest = divmod(size, per)
    found = [_constant(0)] * len(flat)
    if count:
        steps = _steps(at, count)
        # Contiguous parts, and not neighbours: a compiler reads each of them in one sweep.
        cut = [[bits[part * count : (part + 1) * count] for part in range(per)] for bits in flat]
        found = _reduced([_mixed(_joined(parts), steps) for parts in cut])
    if rest:
        steps = _steps(at + count, rest)
        ends = [tf.reduce_sum(_mixed(tf.cast(bits[per * count :], tf.uint64), steps)) for bits in flat]
        found = [a + b for a, b in zip(found, ends, strict=True)]
    return found


def _reduced(vectors: list[Any]) -> list[Any]:
    """The sum of each."""
    reduce_many = _variadic_reduce()
    if reduce_many is None or len(vectors) == 1:
        return [tf.reduce_sum(vector) for vector in vectors]
    found: list[Any] = []
    for start in range(0, len(vectors), _AT_ONCE):
        some = vectors[start : start + _AT_ONCE]
        zeros = [_constant(0)] * len(some)
        found += reduce_many(
            inputs=some, init_values=zeros, dimensions_to_reduce=[0], reducer=_added(len(some))
        )
    return found


def _variadic_reduce() -> Any:
    """XLA's reduction of several tensors at once, which has no public name; None where it has gone."""
    try:
        from tensorflow.compiler.tf2xla.ops import gen_xla_ops

        return gen_xla_ops.xla_variadic_reduce_v2
    except (ImportError, AttributeError):
        return None


@lru_cache
def _added(count: int) -> Any:
    def add(*pairs: Any) -> list[Any]:
        return [a + b for a, b in zip(pairs[:count], pairs[count:], strict=True)]

    with tf.init_scope():
        scalars = [tf.TensorSpec([], tf.uint64)] * (2 * count)
        return tf.function(add, autograph=False).get_concrete_function(*scalars)


def _unsigned(elements: Any) -> Any:
    kind = _UNSIGNED[elements.dtype.size]
    if elements.dtype.is_bool:
        return tf.cast(elements, kind)
    return elements if elements.dtype == kind else tf.bitcast(elements, kind)


def _joined(parts: list[Any]) -> Any:
    """Words of which each part has some of the bits."""
    width = 8 * WORD // len(parts)
    words = tf.cast(parts[0], tf.uint64)
    for number, part in enumerate(parts[1:], start=1):
        shifted = _raw.LeftShift(x=tf.cast(part, tf.uint64), y=_constant(width * number))
        words = _raw.BitwiseOr(x=words, y=shifted)
    return words


def _steps(at: int, count: int) -> Any:
    positions = tf.range(at + 1, at + 1 + count, dtype=tf.int64)
    return tf.cast(positions, tf.uint64) * _constant(STEP)


def _mixed(words: Any, steps: Any) -> Any:
    mixed = words + steps
    for shift, factor in zip(SHIFTS, (FIRST, SECOND), strict=False):
        mixed = _folded(mixed, shift) * _constant(factor)
    return _folded(mixed, SHIFTS[-1])


def _folded(words: Any, shift: int) -> Any:
    return _raw.BitwiseXor(x=words, y=_raw.RightShift(x=words, y=_constant(shift)))


def _constant(value: int) -> Any:
    return tf.constant(np.uint64(value))


# one tensor


@tf.function(autograph=False, jit_compile=True)  # type: ignore[untyped-decorator]
def _total(value: Any) -> Any:
    return _totals([value])[0]


_shapes: set[tuple[int, tuple[int, ...]]] = set()


def is_better_there(dtype: Any, shape: tuple[int, ...], size: int) -> bool:
    """Whether a tensor is digested on its device alone. A small one is brought to the host, which gives the same digest."""
    kind = (dtype.as_datatype_enum, shape)
    if size >= _LARGE and kind not in _shapes and len(_shapes) < _MOST_SHAPES:
        _shapes.add(kind)
    return kind in _shapes


def digest_value(value: Any, device: str) -> int:
    """The digest of a tensor on this device."""
    with tf.init_scope(), tf.device(device):
        return finished(int(_total(value).numpy()), value.dtype.name, value._shape_tuple())


def digest_large(tensor: Any) -> int | None:
    """The digest of a tensor that lies on a GPU. None where it does not, or where the host is faster."""
    if tensor._num_elements() < _LARGE // 16 or not is_gpu(tensor.backing_device):
        return None
    if current().device:  # compared with a twin on another, where nothing is digested like that
        return None
    dtype, shape = tensor.dtype, tensor._shape_tuple()
    if not can_digest(dtype, shape) or trouble_on(tensor.backing_device):
        return None
    there = is_better_there(dtype, shape, tensor._num_elements() * dtype.size)
    return digest_value(tensor, tensor.backing_device) if there else None


def is_gpu(device: str) -> bool:
    return "GPU:" in device


def can_digest(dtype: Any, shape: Iterable[int] | None) -> bool:
    """Whether there are ops for it: none gives the bits of numbers that are smaller than those of _NUMBERS."""
    return shape is not None and dtype in _NUMBERS


@lru_cache
def trouble_on(device: str) -> str | None:
    """Why this device cannot digest what lies on it; None where it can. Tried once, against the host."""
    sample = np.arange(-9, 20, dtype=np.float32) / 7
    try:
        with tf.init_scope(), tf.device(device):
            found = finished(int(_total(tf.constant(sample)).numpy()), "float32", sample.shape)
    except Exception as problem:
        return f"{type(problem).__name__}: {str(problem).splitlines()[0][:200]}"
    return None if found == sum_digest(sample) else "it computes something else than the host"
