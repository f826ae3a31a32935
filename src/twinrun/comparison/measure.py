"""The values of tensors that differ between two twins: asked for, compared and kept in pieces, so that the parent never
holds a whole one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from twinrun.comparison.contract import Contract
from twinrun.comparison.frames import Distance
from twinrun.comparison.tensors import Gap, unlike
from twinrun.recording.outline import BLOCK, PIECE, Key, Outline, Part, differing_parts, joined
from twinrun.recording.pieces import block_digests, decoded
from twinrun.sizes import size_in_words

MOST_DUMPED = 64  # tensors of one step


class Witness(Protocol):
    """A twin that can be asked for the tensors of the step it stands at, or a recording that kept them."""

    name: str
    folder: Path

    def outlines(self, keys: list[Key]) -> list[Outline | None]:
        """The outlines of these tensors; None for those whose values are not known."""

    def values(self, parts: list[Part]) -> bytes | None:
        """The elements of parts of tensors whose outlines were given. None where there is no answer."""

    def dump(self, parts: list[Part], file: Path) -> str | None:
        """Keep these parts in a file. Why that was not possible; None where it was."""


Pair = tuple[Witness, Witness]
Outlines = dict[Key, tuple[Outline, Outline]]


@dataclass(frozen=True)
class Measured:
    distance: Distance
    within: bool  # the contract


def outlines_of(pair: Pair, keys: list[Key]) -> Outlines:
    """The outlines of those tensors whose values both twins know."""
    if not keys:
        return {}
    one, other = (witness.outlines(keys) for witness in pair)
    return {
        key: (a, b) for key, a, b in zip(keys, one, other, strict=True) if a is not None and b is not None
    }


def measure(
    pair: Pair, keys: list[Key], contract: Contract, *, most: float = math.inf, where: bool = False
) -> dict[Key, Measured]:
    """How far these tensors are apart; none is in the answer that changed meanwhile, or whose values are not known. Only
    those are read that have no more than `most` bytes together. `where`: and which of their elements differ."""
    found: dict[Key, Measured] = {}
    gaps: dict[Key, _Comparison] = {}
    parts: list[Part] = []
    for key, (a, b) in outlines_of(pair, keys).items():
        if a.nbytes > most:
            continue
        most -= a.nbytes
        if not a.fits(b):
            found[key] = Measured(unlike(a.dtype, a.shape, b.dtype, b.shape), within=False)
            continue
        gaps[key] = _Comparison(key, a, b, contract, where)
        parts += differing_parts(key, a, b)
    for batch in _batches(parts, gaps):
        one, other = (_decoded(witness.values(batch), batch, gaps) for witness in pair)
        for part, *pieces in zip(batch, one, other, strict=True):
            gaps[part.key].add(part, *pieces)
    return {**found, **{key: gap.measured() for key, gap in gaps.items() if gap.known}}


class _Comparison:
    """One tensor in two twins, as its pieces come in."""

    def __init__(self, key: Key, a: Outline, b: Outline, contract: Contract, where: bool) -> None:
        self._phase = key[0]
        self.outlines = (a, b)
        self.known = True
        self._gap = Gap(a.shape, where=where)
        self._contract = contract
        self._within = True

    def add(self, part: Part, *pieces: np.ndarray | None) -> None:
        """Nothing more is known where a piece is missing, or is not what its twin has outlined: it has changed since."""
        for outline, piece in zip(self.outlines, pieces, strict=True):
            if piece is None or block_digests(piece, outline.block) != outline.digests_of(part):
                self.known = False
                return
        a, b = pieces
        assert a is not None and b is not None
        self._gap.add(a, b, part.start)
        numeric = self._contract.numeric
        self._within = self._within and (not numeric or self._contract.holds(a, b, self._phase))

    def measured(self) -> Measured:
        return Measured(self._gap.distance(), self._within)


def _batches(parts: Iterable[Part], known: dict[Key, _Comparison]) -> Iterator[list[Part]]:
    """Small parts are asked for together."""
    batch: list[Part] = []
    size = 0
    for part in parts:
        nbytes = known[part.key].outlines[0].bytes_of(part)
        if batch and size + nbytes > PIECE:
            yield batch
            batch, size = [], 0
        batch.append(part)
        size += nbytes
    if batch:
        yield batch


def _decoded(
    data: bytes | None, batch: list[Part], known: dict[Key, _Comparison]
) -> Sequence[np.ndarray | None]:
    """The elements of each part; None for all where there are no such data."""
    left = memoryview(data or b"")
    try:
        pieces = []
        for part in batch:
            dtype = known[part.key].outlines[0].dtype
            piece, left = decoded(left, dtype, part.stop - part.start)
            pieces.append(piece)
    except ValueError:
        return [None] * len(batch)
    return pieces


@dataclass
class Dumps:
    """Keeps what differs in files, for who wants to look at it: whole small tensors, and of larger ones the blocks that
    differ, as far as there is room for them in the limit of a check."""

    room: int = 0  # in bytes
    notes: list[str] = field(default_factory=list)

    def keep(self, pair: Pair, keys: list[Key], step: int) -> None:
        """The first of these tensors, from both twins."""
        if self.room <= 0:
            return
        wanted: list[tuple[int, Part]] = []
        for key, (a, b) in outlines_of(pair, keys[:MOST_DUMPED]).items():
            if a.fits(b):
                wanted += [(a.bytes_of(part), part) for part in differing_parts(key, a, b)]
        kept = self._chosen(wanted)
        if not kept:
            return
        for witness in pair:
            problem = witness.dump(kept, witness.folder / "tensors" / f"step-{step:06d}.safetensors")
            if problem is not None:
                self.notes.append(f"twin {witness.name} could not keep the tensors that differ: {problem}")

    def _chosen(self, wanted: Sequence[tuple[int, Part]]) -> list[Part]:
        """What there is room for, small tensors first. What comes first stays first."""
        room, kept = self.room // 2, set()
        for size, part in sorted(wanted, key=lambda each: each[0] > BLOCK):
            if size <= room:
                room -= size
                kept.add(part)
        self.room = 2 * room
        total = sum(size for size, _ in wanted)
        left_out = sum(size for size, part in wanted if part not in kept)
        if left_out:
            shown = f"{size_in_words(total - left_out)} of {size_in_words(total)}"
            self.notes.append(f"of the tensors that differ each twin kept {shown} (--dump-limit)")
        return joined(part for _, part in wanted if part in kept)
