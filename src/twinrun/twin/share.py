"""Which elements a worker trains on, by a digest of each: together the workers of a cluster must read every element of the
data once."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable

import numpy as np
import xxhash

from twinrun.protocol.facts import Share
from twinrun.recording.digest import digest_array, digest_rows

_MOST = 200_000  # elements of a pass; of more, nothing is known
_REPLICA = re.compile(r"/replica_(\d+)$")
Named = tuple[str, np.ndarray]


def elements_of(batch: Iterable[Named]) -> list[int] | None:
    """A digest of each element of a batch, of one replica or of several. None for one that does not consist of
    elements."""
    replicas: dict[str, list[np.ndarray]] = {}
    for name, array in batch:
        found = _REPLICA.search(name)
        replicas.setdefault(found[1] if found else "", []).append(array)
    elements: list[int] = []
    for arrays in replicas.values():
        lengths = {len(array) if array.ndim else None for array in arrays}
        if len(lengths) > 1 or None in lengths:
            return None
        columns = [_rows(array) for array in arrays]
        elements += (
            xxhash.xxh3_64_intdigest(struct.pack(f"<{len(row)}Q", *row)) for row in zip(*columns, strict=True)
        )
    return elements


class ShareLog:
    def __init__(self) -> None:
        self._elements: list[int] = []
        self._passes: list[int] = []
        self._unknown = ""

    def add(self, batch: Iterable[Named]) -> None:
        if self._unknown or self._passes:  # only the first pass counts
            return
        if len(self._elements) >= _MOST:
            self._unknown = f"a worker reads more than {_MOST:,} elements"
        elif (elements := elements_of(batch)) is None:
            self._unknown = "a batch does not consist of elements"
        else:
            self._elements += elements

    def begin_pass(self) -> None:
        """The program starts to iterate over a dataset: what follows may be the same elements again."""
        if self._elements and self._passes[-1:] != [len(self._elements)]:
            self._passes.append(len(self._elements))

    def report(self) -> Share | None:
        if self._unknown:
            return Share(unknown=self._unknown)
        if not self._elements:
            return None
        first = self._passes[0] if self._passes else len(self._elements)
        elements = self._elements[:first]
        if not self._passes and len(set(elements)) < len(elements):
            return Share(unknown="where a worker's first pass over the data ends was not seen")
        return Share(struct.pack(f"<{len(elements)}Q", *elements))


def _rows(array: np.ndarray) -> list[int]:
    if array.dtype.kind in "OSU" or array.dtype.isbuiltin != 1 or array[:1].nbytes == 0:
        return [digest_array(array[number : number + 1]) for number in range(len(array))]
    return digest_rows(array)
