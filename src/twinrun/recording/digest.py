"""The digest of a tensor: xxh3 of its bytes with its type and shape mixed in.

On a CPU the host hashes what it can read without copying. A device digest would take the same three arguments
and return the same kind of number; nothing above this file knows where it was computed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import xxhash


@lru_cache(maxsize=4096)
def _kind(dtype: str, shape: tuple[int, ...]) -> int:
    return xxhash.xxh3_64_intdigest(f"{dtype}{shape}".encode())


def digest_bytes(data: Any, dtype: str, shape: tuple[int, ...]) -> int:
    """`data` is anything with a contiguous buffer."""
    return xxhash.xxh3_64_intdigest(data, _kind(dtype, shape))


def digest_array(array: np.ndarray) -> int:
    """For arrays of any type, strings and other objects included."""
    if array.dtype.kind in "OSU":
        hasher = xxhash.xxh3_64(seed=_kind("string", array.shape))
        for item in array.ravel():
            raw = item if isinstance(item, bytes) else str(item).encode("utf-8", "surrogatepass")
            hasher.update(len(raw).to_bytes(8, "little") + raw)
        return hasher.intdigest()
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    data = array if array.dtype.isbuiltin == 1 else array.reshape(-1).view(np.uint8)
    return digest_bytes(data if data.size else b"", str(array.dtype), array.shape)
