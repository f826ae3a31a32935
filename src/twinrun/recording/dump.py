"""Tensor dumps: the values of a few tensors, in safetensors files. Element types that NumPy does not know
(bfloat16, the 8-bit floats) travel as integer views, with their real type in the metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from twinrun.errors import BadRecording

Key = tuple[str, str]  # phase, name

_NATIVE = {"float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"}  # fmt: skip


def write_dump(path: Path, tensors: Mapping[Key, np.ndarray]) -> None:
    from safetensors.numpy import save_file

    arrays: dict[str, np.ndarray] = {}
    directory: list[dict[str, object]] = []
    for number, ((phase, name), array) in enumerate(tensors.items()):
        kind = str(array.dtype)
        text = array.dtype.kind in "OSU"
        directory.append(
            {"phase": phase, "name": name, "dtype": kind, "shape": list(array.shape), "text": text}
        )
        arrays[str(number)] = _as_plain(np.ascontiguousarray(array))
    save_file(arrays, str(path), metadata={"tensors": json.dumps(directory)})


def read_dump(path: Path) -> dict[Key, np.ndarray]:
    from safetensors import safe_open

    try:
        with safe_open(str(path), framework="numpy") as file:
            directory = json.loads(file.metadata()["tensors"])
            return {
                (item["phase"], item["name"]): _from_plain(file.get_tensor(str(number)), **_form(item))
                for number, item in enumerate(directory)
            }
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise BadRecording(f"the tensor dump {path} cannot be read: {problem}") from None
    except Exception as problem:  # safetensors raises its own error type from Rust
        raise BadRecording(f"the tensor dump {path} is damaged: {problem}") from None


def _as_plain(array: np.ndarray) -> np.ndarray:
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


def _form(item: dict[str, Any]) -> dict[str, Any]:
    return {"kind": item["dtype"], "shape": item["shape"], "text": item["text"]}


def _from_plain(array: np.ndarray, kind: str, shape: list[int], text: bool) -> np.ndarray:
    if kind in _NATIVE:
        return array.reshape(shape)
    raw = array.tobytes()
    if text:
        count = int(np.prod(shape)) if shape else 1
        lengths = np.frombuffer(raw[: 8 * count], dtype=np.int64)
        ends = np.cumsum(lengths) + 8 * count
        items = np.empty(count, dtype=object)
        for index, (end, length) in enumerate(zip(ends, lengths, strict=True)):
            items[index] = raw[end - length : end]
        return items.reshape(shape)
    return np.frombuffer(raw, dtype=_exotic(kind)).reshape(shape)


def _exotic(kind: str) -> np.dtype[np.generic]:
    try:
        return np.dtype(kind)
    except TypeError:
        import ml_dtypes

        exotic: np.dtype[np.generic] = np.dtype(getattr(ml_dtypes, kind))
        return exotic
