"""What a file holds, by content and not by timestamp: the lines of a text, the members of an archive, the arrays of an
HDF5 file, the records of an event file without their times."""

from __future__ import annotations

import contextlib
import gzip
import io
import sqlite3
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import xxhash

from twinrun.comparison.shown import visible_lines

Part = list[str] | str  # lines of a text, or a digest
Contents = dict[str, Part]  # by the name of the part; "" for a file that has no parts

_MOST_TEXT = 16 << 20
_MOST_UNPACKED = 512 << 20
_BLOCK = 1 << 20
_DEEPEST = 3  # archives within archives
_MOST_ROWS = 100_000  # of a table


def contents(path: Path) -> Contents:
    """Raises OSError where it cannot be read."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(512)
        file.seek(0)
        if start.startswith(b"SQLite format 3\0"):
            return _rows(path)
        if "tfevents" in path.name and size <= _MOST_UNPACKED:
            return {"": _event_records(file.read())}
        if size > _MOST_UNPACKED or not _has_parts(start):
            return (
                {"": _text(file.read()) or _digest(file, size)}
                if size <= _MOST_TEXT
                else {"": _digest(file, size)}
            )
        return dict(_parts(file.read(), "", 0))


def _has_parts(start: bytes) -> bool:
    return start.startswith((b"PK\x03\x04", b"\x89HDF\r\n\x1a\n", b"\x1f\x8b")) or start[257:262] == b"ustar"


def _parts(data: bytes, name: str, depth: int) -> Iterator[tuple[str, Part]]:
    """The parts of an archive, or the data as they are. Damaged archives are opaque."""
    if depth < _DEEPEST and _has_parts(data[:512]):
        try:
            yield from list(_unpacked(data, name, depth))
            return
        except Exception:  # each of the libraries that read them has errors of its own
            pass
    text = _text(data) if len(data) <= _MOST_TEXT else None
    yield name, xxhash.xxh3_128_hexdigest(data) if text is None else text


def _unpacked(data: bytes, name: str, depth: int) -> Iterator[tuple[str, Part]]:
    if data.startswith(b"\x1f\x8b"):
        with gzip.open(io.BytesIO(data)) as packed:
            unpacked = packed.read(_MOST_UNPACKED + 1)
        _must_fit(len(unpacked))
        yield from _parts(unpacked, name, depth + 1)
    elif data[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(data)) as tape:
            _must_fit(sum(entry.size for entry in tape.getmembers()))
            for entry in tape:
                file = tape.extractfile(entry)
                content = file.read() if file is not None else b""
                yield from _parts(content, f"{name}/{entry.name}".lstrip("/"), depth + 1)
    elif data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _must_fit(sum(member.file_size for member in archive.infolist()))
            for member in archive.infolist():
                yield from _parts(archive.read(member), f"{name}/{member.filename}".lstrip("/"), depth + 1)
    else:
        yield from _datasets(data, name)


def _must_fit(size: int) -> None:
    """What would be too large unpacked is compared as it is."""
    if size > _MOST_UNPACKED:
        raise ValueError("too large to be unpacked")


def _datasets(data: bytes, name: str) -> Iterator[tuple[str, Part]]:
    """The arrays and attributes of an HDF5 file."""
    import h5py  # comes with Keras; without it, the file is compared byte by byte

    found: list[tuple[str, Part]] = []

    def visit(place: str, thing: Any) -> None:
        where = f"{name}/{place}".lstrip("/")
        if isinstance(thing, h5py.Dataset):
            _must_fit(thing.nbytes)
            hasher = xxhash.xxh3_128(f"{thing.dtype}{thing.shape}".encode())
            values = thing[()]
            hasher.update(values.tobytes() if hasattr(values, "tobytes") else repr(values).encode())
            found.append((where, hasher.hexdigest()))
        for key, value in sorted(thing.attrs.items()):
            found.append((f"{where}@{key}".lstrip("/"), str(value).splitlines()))

    with h5py.File(io.BytesIO(data), "r") as file:
        visit("", file)
        file.visititems(visit)
    yield from found


def _rows(path: Path) -> Contents:
    """The rows of a database, table by table."""
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)
        ) as database:
            names = [
                name for (name,) in database.execute("select name from sqlite_master where type = 'table'")
            ]
            found: Contents = {}
            for name in names:
                quoted = name.replace('"', '""')
                rows = [
                    str(row) for row in database.execute(f'select * from "{quoted}" limit {_MOST_ROWS + 1}')
                ]
                if len(rows) > _MOST_ROWS:
                    raise sqlite3.DataError(f"{name} is too long to be read")
                found[name] = rows
            return found
    except (sqlite3.Error, UnicodeError):  # the second where SQLite quotes what is garbled
        with path.open("rb") as file:
            return {"": _digest(file, path.stat().st_size)}


def _text(data: bytes) -> list[str] | None:
    """The lines of a text; None for what is not one."""
    if b"\0" in data:
        return None
    try:
        return visible_lines(data.decode())
    except UnicodeDecodeError:
        return None


def _digest(file: Any, size: int) -> str:
    file.seek(0)
    hasher = xxhash.xxh3_128()
    while block := file.read(_BLOCK):
        hasher.update(block)
    return f"{size}:{hasher.hexdigest()}"


def _event_records(data: bytes) -> str:
    """A digest of the records of a TensorBoard file, each without its time. A record is its length, a checksum, the
    message, a checksum; the time is the message's first field, a double."""
    hasher = xxhash.xxh3_128()
    position = 0
    while position + 12 <= len(data):
        length = int.from_bytes(data[position : position + 8], "little")
        message = data[position + 12 : position + 12 + length]
        hasher.update(message[9:] if message[:1] == b"\x09" else message)
        position += 16 + length
    return hasher.hexdigest()
