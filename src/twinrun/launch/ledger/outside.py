"""The outside world: entropy of the system, the clock, directory listings, files read, threads started."""

from __future__ import annotations

import linecache
import os
import random
import re
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import xxhash

from twinrun.launch.ledger import threads
from twinrun.launch.ledger.book import Book, Caller, caller
from twinrun.launch.sites import is_users
from twinrun.launch.standin import stand_in

_LARGEST_FILE = 256 << 20
# RandomState(0) takes entropy too, and throws it away when it is seeded.
_SEEDED_STATE = re.compile(r"RandomState\(\s*[^)\s]")
_ENTROPY_ROADS = (
    "",
    "uuid",
    "secrets",
    "random",
    "numpy",
)  # through these a user's own line asks for entropy


def install(book: Book) -> None:
    _entropy(book)
    _clock(book)
    _listings(book)
    _files(book)
    _lookups(book)
    threads.install(book)
    if book.watch.spec.experiment.get("freeze_dates"):
        from twinrun.launch.ledger.dates import freeze

        freeze()


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
        if who is not None and _SEEDED_STATE.search(linecache.getline(who.file, who.line)):
            return original(k)
        # Before NumPy's random part is there, nobody but the user can be asking.
        asked, call = (kind, what) if numpy_ready else ("entropy", "secrets.randbits")
        number = book.steady(asked, who)
        value = (
            original(k)
            if number is None
            else int.from_bytes(_stretched(number, (k + 7) // 8), "little") >> (-k % 8)
        )
        if who is not None and who.via in _ENTROPY_ROADS:
            book.note(asked, who, call, str(value).encode())
        return value

    return noted


def _entropy_name(who: Caller | None) -> str:
    return {"uuid": "uuid4", "secrets": "secrets", "random": "random.SystemRandom"}.get(
        who.via if who else "", "os.urandom"
    )


def _stretched(number: int, size: int) -> bytes:
    parts = [xxhash.xxh3_128_digest(f"{number}/{part}".encode()) for part in range(size // 16 + 1)]
    return b"".join(parts)[:size]


def _clock(book: Book) -> None:
    for name in ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns"):
        setattr(time, name, _clock_call(book, name, getattr(time, name)))


def _clock_call(book: Book, name: str, original: Callable[[], Any]) -> Callable[[], Any]:
    base = 1_600_000_000 if name.startswith("time") else 1000

    def read() -> Any:
        frame = sys._getframe(1)
        if not is_users(frame.f_code.co_filename):  # a library's own timing: no business of the program's
            return original()
        who = Caller(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, "", "")
        value = original()
        if book.steady("clock", who) is not None:
            now = base + 0.001 * book._steady_counts["clock", who.file, who.line]
            value = int(now * 1_000_000_000) if name.endswith("_ns") else now
        book.note("clock", who, f"time.{name}", repr(value).encode())
        return value

    read.__name__, read.__module__, read.__doc__ = name, "time", original.__doc__
    return read


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


def _files(book: Book) -> None:
    """Files that the program opens to read, by content: an input that changed between the runs is a cause."""
    seen: set[tuple[str, int]] = set()
    busy = threading.local()

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event != "open" or getattr(busy, "on", False) or not book.watch.alive:
            return
        path, mode = args[0], args[1]
        if (
            not isinstance(path, (str, os.PathLike))
            or (isinstance(mode, str) and "r" not in mode)
            or not mode
        ):
            return
        busy.on = True
        try:
            _note_file(book, os.fspath(path), seen)
        except Exception:  # an audit hook must never be the reason that a file cannot be opened
            return
        finally:
            busy.on = False

    sys.addaudithook(hook)


def _note_file(book: Book, path: str | bytes, seen: set[tuple[str, int]]) -> None:
    name = os.fsdecode(path)
    if name.endswith((".py", ".pyc", ".so")) or name.startswith(("/proc/", "/sys/", "/dev/", "/etc/")):
        return
    who = caller(3)
    if who is None or who.via not in (
        "",
        "numpy",
        "pathlib",
        "json",
        "csv",
        "pickle",
        "gzip",
        "pandas",
        "h5py",
        "io",
    ):
        return
    file = Path(name)
    stat = file.stat()
    if (name, stat.st_mtime_ns) in seen or not file.is_file() or stat.st_size > _LARGEST_FILE:
        return
    seen.add((name, stat.st_mtime_ns))
    digest = xxhash.xxh3_128_digest(file.read_bytes())
    book.inputs.setdefault(str(file.absolute()), digest)
    book.note("file", who, str(file.absolute()), digest)


def _lookups(book: Book) -> None:
    """Files that were looked for and not there. When the program has made one by its end, its next run finds it."""
    stat = os.stat

    def noted_stat(path: Any, *args: Any, **kwargs: Any) -> os.stat_result:
        try:
            return stat(path, *args, **kwargs)
        except FileNotFoundError:
            if isinstance(path, (str, os.PathLike)):
                who = caller()
                if who is not None and who.via in ("", "genericpath", "posixpath", "pathlib", "os"):
                    book.missed(str(Path(path).absolute()), who)
            raise

    stand_in("stat", noted_stat)
