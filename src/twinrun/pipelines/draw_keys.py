"""Keys for stateless draws: a number follows from (seed, epoch, stage, element index, draw) and nothing else.

A draw is a call of the Philox generator, which takes a 64-bit key and a 128-bit counter. For an element, the key is
its index, counted from a number drawn once for the epoch, and the counter is the name of the draw (stage and place), a
constant. So a keyed draw costs next to nothing more than the stateful one it replaces, and an element has one number to
carry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
import xxhash

Place = tuple[Any, ...]  # names a draw: its stage, its function, its number in there
_MASK = (1 << 64) - 1


def algorithm() -> Any:
    return tf.constant(1)  # Philox


def _numbers(key: Any, counter: Any, count: int, dtype: str) -> Any:
    """`count` random integers that use the whole range of their type."""
    shape, make = tf.constant([count], tf.int32), tf.raw_ops.StatelessRandomUniformFullIntV2
    return make(shape=shape, key=key, counter=counter, alg=algorithm(), dtype=tf.as_dtype(dtype))


class Scope:
    """Somewhere draws are made: a whole pass over the pipeline, or one element of a stage.

    `counter(n)` gives the counter of the draw named n, as a tensor of the graph being built.
    """

    def __init__(self, key: Any, counter: Callable[[int], Any]) -> None:
        self.key = key
        self.counter = counter

    def draw(self, *place: Any) -> tuple[Any, Any]:
        """The key and the counter for one draw."""
        return self.key, self.counter(_name(*place))

    def number(self, *place: Any, count: int = 1, dtype: str = "uint64") -> Any:
        return _numbers(*self.draw(*place), count, dtype)

    def base(self) -> Any:
        """The number from which elements are counted in this scope: 62 random bits, as an int64.

        Two scopes of a million elements overlap with a probability of one in 10^12.
        """
        drawn = tf.reshape(self.number("elements"), [])
        return tf.cast(tf.bitwise.right_shift(drawn, tf.constant(2, tf.uint64)), tf.int64)

    def repetition(self, turn: Any, count: Any, *place: Any) -> Scope:
        """The scope for one iteration of a loop or of a repeat()."""
        counter = _counter(_name("turn", *place), tf.cast(turn, tf.uint64))
        return Scope(_numbers(self.key, counter, 1, "uint64"), self.counter)


class Pass(Scope):
    """One pass over the whole pipeline: an epoch."""

    def __init__(self, seed: int, epoch: Any) -> None:
        self.seed, self.epoch = seed, epoch
        key = tf.constant([seed & _MASK], tf.uint64)
        super().__init__(key, lambda name: _counter(name, tf.cast(epoch, tf.uint64)))

    def repetition(self, turn: Any, count: Any, *place: Any) -> Scope:
        """Repetitions of a repeat(n) in epoch e are the epochs e·n, e·n+1, …; of an endless one e, e+1, …"""
        return Pass(self.seed, tf.where(count > 0, self.epoch * count + turn, self.epoch + turn))

    def without_epoch(self) -> Scope:
        """The scope for what is the same in every epoch."""
        return Scope(self.key, lambda name: _counter(name, _constant(_MASK)))


def element(key: Any) -> Scope:
    """The scope of one element: its number in the stage's input (uint64), counted from the base of the outer scope."""
    return Scope(tf.expand_dims(key, 0), lambda name: tf.constant([name & _MASK, 0], tf.uint64))


def _name(*parts: Any) -> int:
    """A 64-bit name for a place in a pipeline: the same in every process."""
    return xxhash.xxh3_64_intdigest("/".join(map(str, parts)).encode())


def _counter(name: int, above: Any) -> Any:
    """The name is the lower half, which a draw counts up; so no draw runs into the next epoch's."""
    return tf.stack([_constant(name), above])


def _constant(value: int) -> Any:
    return tf.constant(value & _MASK, tf.uint64)
