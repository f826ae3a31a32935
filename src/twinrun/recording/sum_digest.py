"""A digest that can be taken wherever a tensor lies, in any order: every 8 bytes are mixed with their position, and the
results added as integers of 64 bits. A GPU does so at the speed of its memory. This file defines it, and takes it on the
host, for values that were brought there.

A tensor of n words of 8 bytes is cut into equal parts, one after the other, as many as elements fit into a word: word i
holds element i of each part. What is left over, fewer elements than that, follows as words of one element each. A complex
tensor is its real part followed by its imaginary part."""

from __future__ import annotations

import numpy as np
import xxhash

# The increment and the multipliers of SplitMix64, whose output is uniform where its input is a counter.
STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
SHIFTS = (30, 27, 31)
WORD = 8  # bytes
_PIECE = 1 << 18  # words that are mixed at a time


def sum_digest(array: np.ndarray) -> int:
    """The digest of numbers or booleans: of any type of up to 8 bytes, and of complex numbers."""
    total, at = 0, 0
    for part in _parts(np.ascontiguousarray(array)):
        bits = part.reshape(-1).view(f"u{part.itemsize}") if part.size else np.empty(0, np.uint8)
        per = WORD // bits.itemsize
        count = bits.size // per
        for start in range(0, count, _PIECE):
            stop = min(start + _PIECE, count)
            words = np.zeros(stop - start, np.uint64)
            for number in range(per):
                each = bits[number * count + start : number * count + stop].astype(np.uint64)
                words |= each << np.uint64(8 * bits.itemsize * number)
            total += _mixed(words, at + start)
        rest = bits[per * count :].astype(np.uint64)
        total += _mixed(rest, at + count)
        at += count + rest.size
    return finished(total, str(array.dtype), array.shape)


def finished(total: int, dtype: str, shape: tuple[int, ...]) -> int:
    """The digest of a tensor whose mixed words have this sum: its type and shape are a part of it."""
    kind = xxhash.xxh3_64_intdigest(f"sum {dtype}{shape}".encode())
    return xxhash.xxh3_64_intdigest((total % (1 << 64)).to_bytes(8, "little"), kind)


def _parts(array: np.ndarray) -> list[np.ndarray]:
    if array.dtype.kind == "c":
        return [np.ascontiguousarray(array.real), np.ascontiguousarray(array.imag)]
    return [array]


def _mixed(words: np.ndarray, at: int) -> int:
    """The sum of words of which the first has position `at`."""
    positions = np.arange(at + 1, at + 1 + words.size, dtype=np.uint64)
    mixed = words + positions * np.uint64(STEP)
    mixed = (mixed ^ (mixed >> np.uint64(SHIFTS[0]))) * np.uint64(FIRST)
    mixed = (mixed ^ (mixed >> np.uint64(SHIFTS[1]))) * np.uint64(SECOND)
    mixed ^= mixed >> np.uint64(SHIFTS[2])
    return int(mixed.sum(dtype=np.uint64))
