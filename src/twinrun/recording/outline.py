"""A tensor without its values, and a part of one: what is exchanged before any value is. Imports no NumPy, which a program
may never need."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import msgspec

Key = tuple[str, str]  # phase, name

BLOCK = 1 << 20  # bytes of which one digest is taken
PIECE = 4 << 20  # what is compared at a time


class Part(msgspec.Struct, frozen=True, array_like=True):
    """Some elements of a tensor, counted in row-major order."""

    phase: str
    name: str
    start: int
    stop: int

    @property
    def key(self) -> Key:
        return (self.phase, self.name)


def joined(parts: Iterable[Part]) -> list[Part]:
    """The same elements in as few parts as can be."""
    found: list[Part] = []
    for part in parts:
        goes_on = bool(found) and (found[-1].key, found[-1].stop) == (part.key, part.start)
        found.append(Part(*part.key, found.pop().start, part.stop) if goes_on else part)
    return found


class Outline(msgspec.Struct, frozen=True):
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    block: int  # elements of which one digest is taken
    digests: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def fits(self, other: Outline) -> bool:
        """Whether elements can be compared one by one."""
        return (self.dtype, self.shape) == (other.dtype, other.shape)

    def bytes_of(self, part: Part) -> int:
        """How much a part takes: of strings, about so much."""
        return self.nbytes * (part.stop - part.start) // max(1, self.size)

    def digests_of(self, part: Part) -> tuple[int, ...]:
        """The digests of the blocks of a part that begins with one."""
        return self.digests[part.start // self.block : -(-part.stop // self.block)]


def differing_parts(key: Key, a: Outline, b: Outline) -> Iterator[Part]:
    """The blocks in which two tensors of one type and shape differ, as pieces of neighbouring blocks."""
    unlike = [n for n, (one, other) in enumerate(zip(a.digests, b.digests, strict=True)) if one != other]
    first = 0
    for number, block in enumerate(unlike, start=1):
        if unlike[number : number + 1] != [block + 1] or number - first == PIECE // BLOCK:
            yield Part(*key, unlike[first] * a.block, min((block + 1) * a.block, a.size))
            first = number
