"""The file of `twinrun.ResumeState`: arrays, and what must be known about them. It is whole, or the one before."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from twinrun.errors import UsageError

_SCHEMA = 2


def write_state(file: Path, about: Mapping[str, Any], arrays: list[np.ndarray]) -> None:
    """`about` must go into JSON."""
    shapes = [[array.dtype.name, array.shape] for array in arrays]
    text = json.dumps({"schema": _SCHEMA, "arrays": shapes, **about})
    packed = io.BytesIO()
    held: dict[str, Any] = {"about": np.frombuffer(text.encode(), np.uint8), **_as_bytes(arrays)}
    np.savez(packed, **held)
    _replace(file, packed.getbuffer())


def read_state(file: Path) -> tuple[dict[str, Any], list[np.ndarray]]:
    import ml_dtypes

    try:
        with np.load(file, allow_pickle=False) as held:
            about = json.loads(held["about"].tobytes())
            if about["schema"] != _SCHEMA:
                raise ValueError(f"schema {about['schema']}")
            arrays = []
            for number, (name, shape) in enumerate(about["arrays"]):
                kind = np.dtype(getattr(ml_dtypes, name, name))
                arrays.append(np.frombuffer(held[f"a{number}"].tobytes(), kind).reshape(shape))
    except (ValueError, KeyError, OSError, EOFError, TypeError, zipfile.BadZipFile) as problem:
        hint = "remove it to start over"
        raise UsageError(f"{file} is not a state that ResumeState has saved: {problem}", hint=hint) from None
    return about, arrays


def _as_bytes(arrays: list[np.ndarray]) -> dict[str, np.ndarray]:
    """NumPy's files know only its own types."""
    return {
        f"a{number}": np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        for number, array in enumerate(arrays)
    }


def _replace(file: Path, content: memoryview) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.partial")
    with partial.open("wb") as written:
        written.write(content)
        written.flush()
        os.fsync(written.fileno())
    partial.replace(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
