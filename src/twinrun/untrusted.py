"""Files that somebody else may have written. Only regular files are opened, up to a size that none of ours has, and a
document is taken only as deep and with as many values as ours. What is refused is a ValueError or an OSError that says
why, in words that follow "cannot be read: "."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

T = TypeVar("T")

MOST_BYTES = 16 << 20  # of a document
_MOST_VALUES = 1_000_000  # in a document: what a parser makes of a value is many times as large as the value
_DEEPEST = 64
_LONGEST_NUMBER = 40  # digits
_SOLID = 64 << 20  # files beyond this size may have no large holes
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: Path, most: int | None = None) -> BinaryIO:
    """Opened for reading, once it is known to be a regular file: opening a pipe or a device may wait, or do something.
    A large file with holes is none of ours either: it takes no room, and forever to read."""
    _must_be_regular(path.stat(), most)
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb")
    try:
        about = os.fstat(file.fileno())  # another file may have taken its place
        _must_be_regular(about, most)
        if about.st_size > _SOLID and about.st_blocks * 512 < about.st_size // 2:
            if os.lseek(file.fileno(), 0, os.SEEK_HOLE) < about.st_size:
                raise ValueError("most of it is a hole, as in no file of Twinrun's")
            os.lseek(file.fileno(), 0, os.SEEK_SET)
    except BaseException:
        file.close()
        raise
    return file


def _must_be_regular(about: os.stat_result, most: int | None) -> None:
    if not stat.S_ISREG(about.st_mode):
        kind = next((name for test, name in _KINDS if test(about.st_mode)), "something else")
        raise ValueError(f"it is {kind}, not a file")
    if most is not None:
        must_fit(about.st_size, most)


def must_fit(size: int, most: int = MOST_BYTES) -> None:
    if size > most:
        raise ValueError(f"it has more than {most:,} bytes, which no file of this kind has")


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    with open_regular(path, most) as file:
        return limited(file, most)


def limited(file: BinaryIO, most: int = MOST_BYTES) -> bytes:
    """All of it. Some files grow while they are read, and some have a size only once they are."""
    data = file.read(most + 1)
    if data is None:  # of a file that answers when it likes, in /proc say
        raise ValueError("it is not a file that can be read at once")
    must_fit(len(data), most)
    return data


def read_json(path: Path) -> Any:
    return parse_json(read_bytes(path))


def parse_json(data: bytes) -> Any:
    _must_be_few(data, _MOST_VALUES)
    try:
        return _shallow(_JSON.decode(data.decode("utf-8")))
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except UnicodeDecodeError:
        raise ValueError("it is not JSON") from None
    except json.JSONDecodeError as problem:
        raise ValueError(f"it is not JSON (line {problem.lineno}: {problem.msg.lower()})") from None


def read_as(path: Path, kind: type[T]) -> T:
    """A document of that type, which may be somewhat larger: most of it is text."""
    import msgspec

    data = read_bytes(path, 4 * MOST_BYTES)
    _must_be_few(data, 4 * _MOST_VALUES)
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def _must_be_few(data: bytes, most: int) -> None:
    if sum(map(data.count, (b",", b"[", b"{"))) > most:
        raise ValueError(f"it holds more than {most:,} values")


def read_toml(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document = tomllib.loads(read_bytes(path, 1 << 20).decode("utf-8"))
        found: dict[str, Any] = _shallow(document)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if any(isinstance(value, str) and "\0" in value for level in _levels(found) for value in level):
        raise ValueError("a text in it has a NUL character")
    return found


_TOO_DEEP = f"it is nested more than {_DEEPEST} levels deep"


def _shallow(document: Any) -> Any:
    if any(depth >= _DEEPEST for depth, _ in enumerate(_levels(document))):
        raise ValueError(_TOO_DEEP)
    return document


def _levels(document: Any) -> Iterator[list[Any]]:
    """The values of a document, from the outermost inwards."""
    level = [document]
    while level:
        yield level
        parts = (
            each.values() if isinstance(each, dict) else each
            for each in level
            if isinstance(each, (dict, list))
        )
        level = [value for part in parts for value in part]


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError(f"it has a number of {len(digits)} digits")
    return int(digits)


_JSON = json.JSONDecoder(parse_int=_integer)
