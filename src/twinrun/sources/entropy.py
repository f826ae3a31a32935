"""The outside world: entropy of the system, and directory listings."""

from __future__ import annotations

import linecache
import os
import random
import re
import secrets
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import xxhash

from twinrun.twin.event_log import Book, Caller, caller
from twinrun.twin.standin import stand_in

_SEEDED_STATE = re.compile(r"RandomState\(\s*(?:seed\s*=\s*)?(?:(?P<seed>[A-Za-z_][\w.]*)\s*[,)]|[^)\s])")
_ENTROPY_ROADS = (
    "",
    "uuid",
    "secrets",
    "random",
    "numpy",
)  # through these a user's own line asks for entropy


def install(book: Book) -> None:
    _entropy(book)
    _listings(book)


def _entropy(book: Book) -> None:
    urandom = os.urandom

    def noted_urandom(size: int) -> bytes:
        if not numpy_ready and "numpy.random" in sys.modules:
            return urandom(size)  # NumPy, at its import
        who = caller()
        kind = "entropy" if who is not None and who.via in _ENTROPY_ROADS else "entropy-of-library"
        number = book.steady(kind, who)
        data = urandom(size) if number is None else _stretched(number, size)
        book.note(kind, who, _entropy_name(who), data)
        return data

    noted_urandom.__wrapped__ = urandom  # type: ignore[attr-defined]
    os.urandom = noted_urandom
    random._urandom = noted_urandom  # type: ignore[attr-defined]  # SystemRandom's own copy
    # NumPy keeps the function that it finds here at its import, for generators that get no seed.
    _randbits.append(secrets.randbits)
    secrets.randbits = randbits(book, "generator", "an unseeded NumPy generator")  # type: ignore[assignment]


_randbits: list[Callable[[int], int]] = []
numpy_ready: list[bool] = []


def randbits(book: Book, kind: str, what: str) -> Callable[[int], int]:
    original = _randbits[0]

    def noted(k: int) -> int:
        importing = not numpy_ready and "numpy.random" in sys.modules
        if kind == "generator" and importing:
            return original(
                k
            )  # NumPy seeding its global stream, at its import: draws from that are noted as such
        who = caller()
        if _is_seeded_at_once(sys._getframe(1)):
            return original(k)
        # Before NumPy's random part is there, nobody but the user can be asking.
        asked, call = (kind, what) if numpy_ready else ("entropy", "secrets.randbits")
        number = book.steady(asked, who)
        value = (
            original(k)
            if number is None
            else int.from_bytes(_stretched(number, (k + 7) // 8), "little") >> (-k % 8)
        )
        # A library's own unseeded generator counts, unless it is made while the library is imported.
        if who is not None and (
            who.via in _ENTROPY_ROADS or (asked == "generator" and who.via != "importlib")
        ):
            book.note(asked, who, call, str(value).encode())
        return value

    return noted


def _is_seeded_at_once(frame: FrameType) -> bool:
    """`RandomState(0)` takes entropy too, and throws it away when it is seeded; `RandomState(seed)` does so when the
    seed is not None, which a name's value tells."""
    found = _SEEDED_STATE.search(linecache.getline(frame.f_code.co_filename, frame.f_lineno))
    if found is None:
        return False
    first, *rest = found["seed"].split(".") if found["seed"] else [""]
    value = frame.f_locals.get(first, frame.f_globals.get(first, 0)) if first != "None" else None
    for name in rest:
        value = getattr(value, "__dict__", {}).get(name, 0)
    return value is not None


def _entropy_name(who: Caller | None) -> str:
    return {"uuid": "uuid4", "secrets": "secrets", "random": "random.SystemRandom"}.get(
        who.via if who else "", "os.urandom"
    )


def _stretched(number: int, size: int) -> bytes:
    parts = [xxhash.xxh3_128_digest(f"{number}/{part}".encode()) for part in range(size // 16 + 1)]
    return b"".join(parts)[:size]


def _listings(book: Book) -> None:
    listdir, scandir = os.listdir, os.scandir

    def noted_listdir(path: Any = ".") -> list[Any]:
        names = listdir(path)
        who = caller()
        if book.steady("listing", who) is not None:
            names = sorted(names)
        book.note(
            "listing", who, "os.listdir", repr(names).encode("utf-8", "replace"), seeded=_members(names)
        )
        return names

    class NotedScan:
        """What os.scandir returns, read ahead so that its order is known."""

        def __init__(self, path: Any) -> None:
            with scandir(path) as entries:
                self._entries = list(entries)
            who = caller(3)
            if book.steady("listing", who) is not None:
                self._entries.sort(key=lambda entry: str(entry.name))
            names = [entry.name for entry in self._entries]
            book.note(
                "listing",
                who,
                _listing_name(who),
                repr(names).encode("utf-8", "replace"),
                seeded=_members(names),
            )
            self._left = iter(self._entries)

        def __iter__(self) -> Iterator[Any]:
            return self

        def __next__(self) -> Any:
            return next(self._left)

        def __enter__(self) -> NotedScan:
            return self

        def __exit__(self, *_: object) -> None:
            self.close()

        def close(self) -> None:
            self._left = iter(())

    def noted_scandir(path: Any = ".") -> Any:
        if not _by_user():
            return scandir(path)
        return NotedScan(path)

    stand_in("listdir", noted_listdir)
    stand_in("scandir", noted_scandir)


def _members(names: list[Any]) -> str:
    """A digest that does not know the order: other order and other files are two different causes."""
    return xxhash.xxh3_64_hexdigest(repr(sorted(names)).encode("utf-8", "replace"))


def _listing_name(who: Caller | None) -> str:
    return {"glob": "glob", "pathlib": "Path.iterdir", "os": "os.walk"}.get(
        who.via if who else "", "os.scandir"
    )


def _by_user() -> bool:
    who = caller(3)
    return who is not None and who.via in ("", "os", "glob", "pathlib", "fnmatch")
