"""The values of tensors in pieces, so that nobody has to hold a large one: the digests of its blocks tell where two of them
differ, and only those elements are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import groupby

import numpy as np

from twinrun.recording.digest import digest_array
from twinrun.recording.outline import BLOCK, Key, Outline, Part

_TYPE = re.compile(r"[<>=|]?[A-Za-z]\w{0,30}(\[\w{1,10}\])?")


def outline_of(array: np.ndarray) -> Outline:
    elements, kind = flat(array), str(array.dtype)
    nbytes = len(encoded(elements)) if is_text(kind) else elements.nbytes
    block = block_length(kind)
    return Outline(kind, array.shape, nbytes, block, block_digests(elements, block))


def block_length(dtype: str) -> int:
    """How many elements a block has."""
    return max(1, BLOCK // max(1, dtype_of(dtype).itemsize))


def block_digests(elements: np.ndarray, block: int) -> tuple[int, ...]:
    """The digests of the blocks of elements that begin where a block does."""
    return tuple(digest_array(elements[at : at + block]) for at in range(0, elements.size, block))


def flat(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1)


def values_of(parts: Iterable[Part], array_of: Callable[[Key], np.ndarray | None]) -> bytes | None:
    """The elements of these parts, one part after the other. None where one of the tensors is not known."""
    found: list[memoryview] = []
    for key, of_one in groupby(parts, key=lambda part: part.key):
        array = array_of(key)
        if array is None:
            return None
        elements = flat(array)
        found += [encoded(elements[part.start : part.stop]) for part in of_one]
    return b"".join(found)


def encoded(elements: np.ndarray) -> memoryview:
    """Elements as bytes, not copied. Strings go as all their lengths, then all their bytes."""
    if is_text(str(elements.dtype)):
        items = [i if isinstance(i, bytes) else str(i).encode("utf-8", "surrogatepass") for i in elements]
        lengths = np.array([len(item) for item in items], dtype=np.int64)
        return memoryview(lengths.tobytes() + b"".join(items))
    return elements.view(np.uint8).data.cast("B") if elements.size else memoryview(b"")


def decoded(data: memoryview, dtype: str, count: int) -> tuple[np.ndarray, memoryview]:
    """That many elements, and the bytes that follow them. Raises ValueError where there are too few bytes."""
    if not is_text(dtype):
        kind = dtype_of(dtype)
        size = count * kind.itemsize
        return np.frombuffer(data[:size], kind, count), data[size:]
    lengths = np.frombuffer(data[: 8 * count], np.int64, count)
    ends = np.cumsum(lengths) + 8 * count
    if count and (lengths.min() < 0 or lengths.max() > len(data) or ends[-1] > len(data)):
        raise ValueError("strings with invalid lengths")
    items = np.empty(count, dtype=object)
    items[:] = [bytes(data[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
    return items, data[int(ends[-1]) if count else 0 :]


def is_text(dtype: str) -> bool:
    return dtype_of(dtype).kind in "OSU"


@lru_cache(maxsize=256)
def dtype_of(name: str) -> np.dtype[np.generic]:
    """The element type of this name, as str() of one gives it: also of those that NumPy does not know by itself."""
    import ml_dtypes

    try:
        if isinstance(name, str) and _TYPE.fullmatch(name):
            found: np.dtype[np.generic] = np.dtype(getattr(ml_dtypes, name, name))
            if found.kind != "V" or found.type.__module__ == "ml_dtypes":
                return found
    except TypeError:
        pass
    raise ValueError(f"there is no element type {name!r}")
