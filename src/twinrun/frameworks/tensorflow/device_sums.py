"""The sums that `recording.sum_digest` defines, as ops of TensorFlow that XLA compiles for the device of a tensor."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import tensorflow as tf

from twinrun.recording.sum_digest import FIRST, SECOND, SHIFTS, STEP, WORD
from twinrun.twin.callers import unseen

_UNSIGNED = {1: tf.uint8, 2: tf.uint16, 4: tf.uint32, 8: tf.uint64}
_AT_ONCE = 4  # sums in one kernel
_raw = tf.raw_ops


def totals(values: list[Any]) -> list[Any]:
    """Compute, for tensors of one type and shape, the sums that `recording.sum_digest` defines."""
    if values[0].dtype.is_complex:
        real, imaginary = ([part(value) for value in values] for part in (tf.math.real, tf.math.imag))
        first = _sums(real, 0)
        words = sum(divmod(values[0].shape.num_elements(), WORD // real[0].dtype.size))
        return [a + b for a, b in zip(first, _sums(imaginary, words), strict=True)]
    return _sums(values, 0)


def _sums(values: list[Any], at: int) -> list[Any]:
    """`at` is the position of their first word."""
    flat = [unsigned(tf.reshape(value, [-1])) for value in values]
    per, size = WORD // flat[0].dtype.size, flat[0].shape[0]
    count, rest = divmod(size, per)
    found = [_constant(0)] * len(flat)
    if count:
        steps = _steps(at, count)
        # Contiguous parts, and not neighbours: a compiler reads each of them in one sweep.
        cut = [[bits[part * count : (part + 1) * count] for part in range(per)] for bits in flat]
        found = _reduced([mixed(joined(parts), steps) for parts in cut])
    if rest:
        steps = _steps(at + count, rest)
        ends = [tf.reduce_sum(mixed(tf.cast(bits[per * count :], tf.uint64), steps)) for bits in flat]
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

    with unseen(), tf.init_scope():
        scalars = [tf.TensorSpec([], tf.uint64)] * (2 * count)
        return tf.function(add, autograph=False).get_concrete_function(*scalars)


def unsigned(elements: Any) -> Any:
    kind = _UNSIGNED[elements.dtype.size]
    if elements.dtype.is_bool:
        return tf.cast(elements, kind)
    return elements if elements.dtype == kind else tf.bitcast(elements, kind)


def joined(parts: list[Any]) -> Any:
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


def mixed(words: Any, steps: Any) -> Any:
    mixed = words + steps
    for shift, factor in zip(SHIFTS, (FIRST, SECOND), strict=False):
        mixed = _folded(mixed, shift) * _constant(factor)
    return _folded(mixed, SHIFTS[-1])


def _folded(words: Any, shift: int) -> Any:
    return _raw.BitwiseXor(x=words, y=_raw.RightShift(x=words, y=_constant(shift)))


def _constant(value: int) -> Any:
    return tf.constant(np.uint64(value))
