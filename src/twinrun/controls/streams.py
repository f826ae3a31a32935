"""Is a random stream really the one that a seed gives, however far it has been drawn? The state of a Mersenne
Twister is a block of words; the seed's own stream is drawn forward, block by block, until it meets the block
that is there."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

_WORDS = 624
# 20,000 blocks are 12 million draws and about a second to follow. Beyond that, say that it was not followed.
FURTHEST = 20_000


class TooFar(Exception):
    """More was drawn than is followed."""


def python_position(seed: Any, state: tuple[Any, ...], furthest: int = FURTHEST) -> int | None:
    """How many words were drawn since `random.Random(seed)`; None if `state` is not on that stream."""
    stream = random.Random(seed)
    *block, at = state[1]
    return _position(
        block, at, lambda: list(stream.getstate()[1][:-1]), lambda: stream.getrandbits(32 * _WORDS), furthest
    )


def numpy_position(seed: Any, key: Sequence[int], at: int, furthest: int = FURTHEST) -> int | None:
    """The same for NumPy's global stream. Called only where the program has imported NumPy."""
    from numpy.random import RandomState

    stream = RandomState(seed)
    block = [int(word) for word in key]

    def now() -> list[int]:
        return [int(word) for word in stream.get_state(legacy=False)["state"]["key"]]

    return _position(block, at, now, lambda: stream.bytes(4 * _WORDS), furthest)


def _position(
    block: list[int], at: int, now: Callable[[], list[int]], advance: Callable[[], Any], furthest: int
) -> int | None:
    # A fresh state stands at the end of its block; the first draw makes the next one.
    for passed in range(furthest):
        if now() == block:
            return max(0, (passed - 1) * _WORDS + at)
        advance()
    raise TooFar
