"""Is a random stream really the one that a seed gives, however far it has been drawn? A Mersenne Twister
hands out its state block by block: so what the present block handed out is looked for in what the seed's own
stream does."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

_WORDS = 624
_BLOCK = 4 * _WORDS
_CHUNK = 1000  # blocks drawn at a time
# A stream that is not the seed's is followed this far in vain, in about a second. One that was drawn from
# more often still cannot be told from it.
FURTHEST = 160 * _CHUNK
FURTHEST_IN_WORDS = "100 million"


def python_position(seed: Any, state: tuple[Any, ...], furthest: int = FURTHEST) -> int | None:
    """How many words were drawn since `random.Random(seed)`; None if `state` is not found on that stream."""
    stream = random.Random(seed)
    *block, at = state[1]
    if block == list(stream.getstate()[1][:-1]):
        return 0
    return _position(block, at, lambda size: stream.getrandbits(8 * size).to_bytes(size, "little"), furthest)


def numpy_position(seed: Any, key: Iterable[Any], at: int, furthest: int = FURTHEST) -> int | None:
    """The same for NumPy's global stream. Called only where the program has imported NumPy."""
    from numpy.random import RandomState

    stream = RandomState(seed)
    block = [int(word) for word in key]
    fresh: Any = stream.get_state(legacy=False)
    if block == [int(word) for word in fresh["state"]["key"]]:
        return 0
    return _position(block, at, stream.bytes, furthest)


def _position(block: list[int], at: int, draw: Callable[[int], bytes], furthest: int) -> int | None:
    handed_out = b"".join(_tempered(word).to_bytes(4, "little") for word in block)
    for passed in range(0, furthest, _CHUNK):
        chunk = draw(_CHUNK * _BLOCK)
        found = chunk.find(handed_out)
        if found >= 0 and found % _BLOCK == 0:
            return (passed + found // _BLOCK) * _WORDS + at
    return None


def _tempered(word: int) -> int:
    """What the twister makes of a word of its state before it hands it out."""
    word ^= word >> 11
    word ^= (word << 7) & 0x9D2C5680
    word ^= (word << 15) & 0xEFC60000
    return (word ^ (word >> 18)) & 0xFFFFFFFF
