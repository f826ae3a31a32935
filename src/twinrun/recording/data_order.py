"""Which data a recorded run was fed, and in which order: read from the digests of its batches.

Hashed in order they tell whether the data and its order are the same; added up, whether the data is, in any order. The
unit is a batch as it was fed: other batches may hold the same rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xxhash

from twinrun.recording.reader import Reader

SAME, REORDERED, OTHER = "same", "same data, other order", "other data"


@dataclass(frozen=True)
class EpochData:
    """The batches of one epoch: a digest that their order changes, and one that it does not."""

    ordered: str
    unordered: str
    batches: int


@dataclass(frozen=True)
class RecordedData:
    """All batches of a run, and those of each epoch, where the ends of epochs were seen."""

    digests: np.ndarray  # uint64, one for each batch, in the order in which they were fed
    epoch_ends: tuple[int, ...]  # how many batches had been fed by then

    @property
    def whole(self) -> EpochData:
        return _summary(self.digests)

    @property
    def epochs(self) -> tuple[EpochData, ...]:
        return tuple(_summary(part) for part in np.split(self.digests, self.epoch_ends) if len(part))

    def compared_with(self, other: RecordedData) -> str:
        """`same`, `same data, other order` or `other data`."""
        if np.array_equal(self.digests, other.digests):
            return SAME
        return REORDERED if self.whole.unordered == other.whole.unordered else OTHER


def recorded_data(reader: Reader) -> RecordedData:
    """The batches of a recording."""
    fed, ends = reader.column("batch"), reader.bare("metric", without="batch")
    places = np.array([seq for seq, _ in fed], np.int64)
    digests = np.frombuffer(b"".join(digest for _, digest in fed), np.uint64)
    return RecordedData(digests, tuple(int(end) for end in np.searchsorted(places, ends)))


def describe(a: Reader, b: Reader, *, equal: bool = False) -> str | None:
    """A sentence on the data of two recordings; None where neither has any, and where one was digested on a GPU and the
    other was not. `equal`: they are known to be equal."""
    if equal:  # a million steps need not be read again
        return _same(a.count("batch"))
    kinds = a.kinds("batch"), b.kinds("batch")
    if any(kinds[0][name] != kinds[1][name] for name in kinds[0].keys() & kinds[1].keys()):
        return None
    one, other = recorded_data(a), recorded_data(b)
    count = len(one.digests)
    found = one.compared_with(other)
    if found == SAME:
        return _same(count)
    shared = min(count, len(other.digests))
    differs = np.flatnonzero(one.digests[:shared] != other.digests[:shared])
    first = int(differs[0]) + 1 if len(differs) else shared + 1
    if found == REORDERED:
        return f"the same {count} batches were fed in another order, from batch {first} on"
    if not len(differs):
        return f"the first {shared} batches were the same, in the same order; A saw {count}, B {len(other.digests)}"
    return f"other batches were fed, from batch {first} on"


def _same(batches: int) -> str | None:
    return f"the data was the same, in the same order: {batches} batches" if batches else None


def _summary(digests: np.ndarray) -> EpochData:
    # A sum and not an exclusive or: two equal batches must not cancel each other.
    total = int(np.add.reduce(digests, dtype=np.uint64)) if len(digests) else 0
    return EpochData(xxhash.xxh3_128_hexdigest(digests.tobytes()), f"{total:016x}", len(digests))
