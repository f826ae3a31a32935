"""Tensor dumps: the values of tensors, or of parts of them, in safetensors files that are written and read in pieces.
Element types that safetensors does not know (strings, the 8-bit floats) travel as bytes, with their real type in the
metadata."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np

from twinrun import untrusted
from twinrun.errors import BadRecording
from twinrun.recording.digest import digest_array, running_digest
from twinrun.recording.outline import BLOCK, PIECE, Key, Outline, Part
from twinrun.recording.pieces import (
    block_digests,
    block_length,
    decoded,
    dtype_of,
    encoded,
    flat,
    is_text,
    outline_of,
)
from twinrun.recording.writing import writing

_NAMES = {
    "float16": "F16", "float32": "F32", "float64": "F64", "bfloat16": "BF16", "int8": "I8", "int16": "I16", "int32": "I32",
    "int64": "I64", "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64", "bool": "BOOL",
}  # fmt: skip


class _Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of a dump: a tensor, or its elements from `start` to `stop`."""

    phase: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int = 0
    stop: int | None = None


def write_dump(path: Path, tensors: Mapping[Key, np.ndarray]) -> None:
    """Whole tensors."""
    write_parts(path, [(Part(*key, 0, array.size), array) for key, array in tensors.items()])


def write_parts(path: Path, parts: Sequence[tuple[Part, np.ndarray]]) -> None:
    """Parts, each with the tensor that it is a part of. No file stays behind where there is no room for all of it."""
    header: dict[str, Any] = {}
    entries, contents, at = [], [], 0
    for number, (part, array) in enumerate(parts):
        kind = str(array.dtype)
        whole = part.stop - part.start == array.size
        place = {} if whole else {"start": part.start, "stop": part.stop}
        entries.append(_Entry(part.phase, part.name, kind, array.shape, **place))
        elements = flat(array)[part.start : part.stop]
        contents.append(encoded(elements))  # not copied, but for strings
        size = len(contents[-1])
        header[str(number)] = {
            "dtype": _NAMES.get(kind, "U8"),
            "shape": [elements.size if kind in _NAMES else size],
            "data_offsets": [at, at + size],
        }
        at += size
    # Names may hold lone surrogates, which json escapes.
    header["__metadata__"] = {"tensors": json.dumps([msgspec.to_builtins(entry) for entry in entries])}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    try:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.write(len(text).to_bytes(8, "little") + text)
                for content in contents:
                    file.write(content)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


class _Stored(NamedTuple):
    """A whole tensor in a dump, and where its bytes are."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


class Dump:
    """The whole tensors of a dump, read in pieces. Raises BadRecording where it is damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with untrusted.open_regular(path) as file:
                length = int.from_bytes(file.read(8), "little")
                untrusted.must_fit(length)
                room = os.fstat(file.fileno()).st_size - 8 - length
                if room < 0:
                    raise ValueError("its header is cut off")
                header = untrusted.parse_json(file.read(length))
                self._data = 8 + length
                directory = untrusted.parse_json(header["__metadata__"]["tensors"].encode())
                entries = msgspec.convert(directory, list[_Entry])
                self._found: dict[Key, _Stored] = {}
                for number, entry in enumerate(entries):
                    start, end = msgspec.convert(header[str(number)]["data_offsets"], tuple[int, int])
                    if not 0 <= start <= end <= room:
                        raise ValueError(f"{entry.name!r} is cut off")
                    if entry.stop is None:
                        stored = _Stored(entry.dtype, entry.shape, start, end)
                        file.seek(self._data + start)
                        if not _fits(stored, file):
                            raise ValueError(f"{entry.name!r} does not fit its shape")
                        self._found[entry.phase, entry.name] = stored
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
            raise BadRecording(f"the tensor dump {path} cannot be read: {problem}") from None

    def __iter__(self) -> Iterator[Key]:
        return iter(self._found)

    def array(self, key: Key) -> np.ndarray | None:
        found = self._found.get(key)
        if found is None:
            return None
        count = math.prod(found.shape)
        return self._read(found.start, found.end, found.dtype, count).reshape(found.shape)

    def outline(self, key: Key) -> tuple[Outline, int] | None:
        """The outline, with the digest of the whole tensor."""
        found = self._found.get(key)
        if found is None:
            return None
        if is_text(found.dtype):
            array = self.array(key)
            assert array is not None
            return outline_of(array), digest_array(array)
        whole = running_digest(found.dtype, found.shape)
        digests: list[int] = []
        size, block = math.prod(found.shape), block_length(found.dtype)
        step = block * (PIECE // BLOCK)
        for start in range(0, size, step):
            piece = self.elements(Part(*key, start, min(start + step, size)))
            assert piece is not None
            whole.update(encoded(piece))
            digests += block_digests(piece, block)
        nbytes = found.end - found.start
        return Outline(found.dtype, found.shape, nbytes, block, tuple(digests)), whole.intdigest()

    def elements(self, part: Part) -> np.ndarray | None:
        """Some elements of a tensor."""
        found = self._found.get(part.key)
        if found is None:
            return None
        if is_text(found.dtype):
            array = self.array(part.key)
            return None if array is None else flat(array)[part.start : part.stop]
        itemsize = dtype_of(found.dtype).itemsize
        start, end = (found.start + at * itemsize for at in (part.start, part.stop))
        return self._read(start, end, found.dtype, part.stop - part.start)

    def _read(self, start: int, end: int, dtype: str, count: int) -> np.ndarray:
        try:
            with untrusted.open_regular(self._path) as file:
                file.seek(self._data + start)
                return decoded(memoryview(file.read(end - start)), dtype, count)[0]
        except (OSError, ValueError) as problem:
            raise BadRecording(f"the tensor dump {self._path} cannot be read: {problem}") from None


def read_dump(path: Path) -> dict[Key, np.ndarray]:
    """All whole tensors of a dump."""
    dump = Dump(path)
    arrays = {key: dump.array(key) for key in dump}
    return {key: array for key, array in arrays.items() if array is not None}


def _fits(stored: _Stored, file: BinaryIO) -> bool:
    """Whether a tensor has the size that its shape asks for, and its strings their lengths. The file stands at it."""
    if min(stored.shape, default=0) < 0:
        return False
    size, count = stored.end - stored.start, math.prod(stored.shape)
    if not is_text(stored.dtype):
        return size == dtype_of(stored.dtype).itemsize * count
    left = size - 8 * count
    while count > 0 and left >= 0:
        lengths = np.frombuffer(file.read(8 * min(count, 1 << 16)), np.int64)
        if lengths.min() < 0 or lengths.max() > size:
            return False
        left -= int(lengths.sum())
        count -= len(lengths)
    return left == 0
