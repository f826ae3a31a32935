"""Tensor dumps: the values of a few tensors, in safetensors files. Element types that NumPy does not know
(bfloat16, the 8-bit floats) travel as integer views, with their real type in the metadata."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from twinrun import untrusted
from twinrun.errors import BadRecording

Key = tuple[str, str]  # phase, name

_NATIVE = {"float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"}  # fmt: skip


def write_dump(path: Path, tensors: Mapping[Key, np.ndarray]) -> None:
    from safetensors.numpy import save_file

    directory = [
        {"phase": phase, "name": name, "dtype": str(array.dtype), "shape": array.shape}
        for (phase, name), array in tensors.items()
    ]
    arrays = {str(number): _as_plain(array) for number, array in enumerate(tensors.values())}
    save_file(arrays, str(path), metadata={"tensors": json.dumps(directory)})


def read_dump(path: Path) -> dict[Key, np.ndarray]:
    from safetensors import safe_open

    try:
        _must_have_short_head(path)
        with safe_open(str(path), framework="numpy") as file:
            tensors = {}
            directory = untrusted.parse_json(file.metadata()["tensors"].encode())
            if not isinstance(directory, list):
                raise ValueError("it has no list of its tensors")
            for number, item in enumerate(directory):
                array = file.get_tensor(str(number))
                tensors[str(item["phase"]), str(item["name"])] = _from_plain(
                    array, item["dtype"], item["shape"]
                )
            return tensors
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise BadRecording(f"the tensor dump {path} cannot be read: {problem}") from None
    except Exception as problem:  # safetensors raises its own error type from Rust
        raise BadRecording(f"the tensor dump {path} is damaged: {problem}") from None


def _must_have_short_head(path: Path) -> None:
    """The head of a file lists its tensors, and is read as a whole before anything in it is looked at."""
    with untrusted.open_regular(path) as file:
        untrusted.must_fit(int.from_bytes(file.read(8), "little"))


def _as_plain(array: np.ndarray) -> np.ndarray:
    array = np.ascontiguousarray(array)
    if str(array.dtype) in _NATIVE:
        return array
    if array.dtype.kind in "OSU":  # strings: their bytes, one after the other, as JSON would lose some
        items = [
            item if isinstance(item, bytes) else str(item).encode("utf-8", "surrogatepass")
            for item in array.ravel()
        ]
        lengths = np.array([len(item) for item in items], dtype=np.int64)
        return np.frombuffer(lengths.tobytes() + b"".join(items), dtype=np.uint8)
    return np.frombuffer(array.tobytes(), dtype=np.uint8)


def _from_plain(array: np.ndarray, kind: str, shape: list[int]) -> np.ndarray:
    if kind in _NATIVE:
        return array.reshape(shape)
    raw, dtype = array.tobytes(), dtype_of(kind)
    if dtype.kind not in "OSU":
        return np.frombuffer(raw, dtype).reshape(shape)
    count = math.prod(shape)
    lengths = np.frombuffer(raw[: 8 * count], dtype=np.int64)
    if len(lengths) != count or (lengths < 0).any() or (lengths > len(raw)).any():
        raise ValueError("its strings are not as long as it says")
    ends = np.cumsum(lengths) + 8 * count
    if count and ends[-1] != len(raw):
        raise ValueError("its strings are not as long as it says")
    items = np.empty(count, dtype=object)
    items[:] = [raw[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    return items.reshape(shape)


def dtype_of(name: str) -> np.dtype[np.generic]:
    """The element type of this name, as str() of one gives it: also of those that NumPy does not know by itself."""
    import ml_dtypes

    try:
        if isinstance(name, str) and re.fullmatch(r"[<>=|]?[A-Za-z]\w{0,30}(\[\w{1,10}\])?", name):
            return np.dtype(getattr(ml_dtypes, name, name))
    except TypeError:
        pass
    raise ValueError(f"there is no element type {name!r}")
