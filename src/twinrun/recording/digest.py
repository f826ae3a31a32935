"""The digest of a tensor: xxh3 of its bytes with its type and shape mixed in.

On a CPU the host hashes what it can read without copying. A device digest would take the same three arguments
and return the same kind of number; nothing above this file knows where it was computed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_MOST_THREADS = 4
_BYTES_PER_THREAD = 4 << 20  # with less to do, handing over costs more than it brings
# Takes anything with a buffer; its type hints leave NumPy out.
_xxh3: Callable[[Any, int], int] = xxhash.xxh3_64_intdigest


@lru_cache(maxsize=4096)
def _kind(dtype: str, shape: tuple[int, ...]) -> int:
    return xxhash.xxh3_64_intdigest(f"{dtype}{shape}".encode())


@lru_cache(maxsize=4096)
def _plain(dtype: np.dtype, shape: tuple[int, ...]) -> int | None:
    """The kind of an array whose buffer can be hashed as it stands; None for strings, exotic, empty ones."""
    if dtype.kind in "OSU" or dtype.isbuiltin != 1 or 0 in shape:
        return None
    return _kind(str(dtype), shape)


def digest_array(array: np.ndarray) -> int:
    """The digest of an array of any type, including strings and other objects."""
    kind = _plain(array.dtype, array.shape)
    if kind is not None and array.flags.c_contiguous:  # nearly every tensor of every step
        return _xxh3(array, kind)
    if array.dtype.kind in "OSU":
        hasher = xxhash.xxh3_64(seed=_kind("string", array.shape))
        for item in array.ravel():
            raw = item if isinstance(item, bytes) else str(item).encode("utf-8", "surrogatepass")
            hasher.update(len(raw).to_bytes(8, "little") + raw)
        return hasher.intdigest()
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    data = array if array.dtype.isbuiltin == 1 else array.reshape(-1).view(np.uint8)
    return _xxh3(data if data.size else b"", _kind(str(array.dtype), array.shape))


def digest_rows(array: np.ndarray) -> list[int]:
    """The digest of every `array[n]`, as `digest_array` gives it. Not for strings."""
    kind, size = _kind(str(array.dtype), array.shape[1:]), array.nbytes // max(1, len(array))
    data = np.ascontiguousarray(array).tobytes()  # slices of bytes are the fastest there are
    return [_xxh3(data[at : at + size], kind) for at in range(0, len(data), size)]


def running_digest(dtype: str, shape: tuple[int, ...]) -> xxhash.xxh3_64:
    """The digest of an array, fed with its bytes piece by piece. Not for strings."""
    return xxhash.xxh3_64(seed=_kind(dtype, shape))


class Digester:
    """Digests the same tensors again and again. Large sets are shared among a few threads: hashing releases the GIL, and
    one core cannot read as fast as the memory can deliver."""

    def __init__(self, sizes: Sequence[int]) -> None:
        """`sizes` in bytes, of the tensors that will be given, in their order."""
        self._shares = _shares(sizes, min(_MOST_THREADS, len(os.sched_getaffinity(0))))
        self._pool = _pool(len(self._shares) - 1)

    def digest(self, arrays: Sequence[np.ndarray]) -> list[int]:
        if self._pool is None:
            return [digest_array(array) for array in arrays]
        digests = [0] * len(arrays)

        def work(share: Sequence[int]) -> None:
            for number in share:
                digests[number] = digest_array(arrays[number])

        own, *others = self._shares
        try:
            jobs = [self._pool.submit(work, share) for share in others]
        except RuntimeError:  # the interpreter is ending and starts no threads any more
            return [digest_array(array) for array in arrays]
        work(own)
        for job in jobs:
            job.result()
        return digests


def _pool(threads: int) -> ThreadPoolExecutor | None:
    """None without threads, and where the interpreter is ending: `concurrent.futures` can then no longer be imported."""
    if not threads:
        return None
    try:
        from concurrent.futures import ThreadPoolExecutor
    except RuntimeError:
        return None
    return ThreadPoolExecutor(threads, "twinrun-digest")


def _shares(sizes: Sequence[int], threads: int) -> list[list[int]]:
    """The numbers of the tensors, largest first, each given to the thread that has least. Small sets get one share."""
    threads = max(1, min(threads, sum(sizes) // _BYTES_PER_THREAD))
    shares: list[list[int]] = [[] for _ in range(threads)]
    loads = [0] * threads
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        least = loads.index(min(loads))
        shares[least].append(number)
        loads[least] += sizes[number]
    return shares
