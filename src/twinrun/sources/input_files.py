"""The files that a program reads or looks for: what they held when first met, and what has become of them since."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import xxhash

from twinrun.twin.callers import is_library, is_users, own
from twinrun.twin.event_log import Book, Caller, caller
from twinrun.twin.imports import when_imported
from twinrun.twin.standin import stand_in

MOST = 1000  # files that are followed
_LARGEST = 256 << 20  # bytes of a file that are read for its digest; a larger one is known by size and time
_READ_IN_ALL = 1 << 30  # bytes, likewise
_MARGIN = 2_000_000_000  # ns: twins do not start at the same moment
_NOT_DATA = (".py", ".pyc", ".so")
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/share/", "/usr/lib/")
_MISSING = b""


@dataclass(frozen=True)
class Met:
    """A file as it was when the program met it for the first time."""

    digest: bytes
    mark: tuple[int, int] | None  # size and time: where these are the same, so is the content
    fresh: bool  # written since this program started, by itself or by another


class Inputs:
    def __init__(self, book: Book) -> None:
        self._book = book
        self._started = time.time_ns() - _MARGIN
        self._met: dict[str, Met] = {}
        self._noted: set[tuple[str, tuple[int, int] | None]] = set()
        self._read = 0
        self._lock = threading.RLock()
        self._busy = threading.local()

    def meet(self, path: Any, who: Caller | None) -> None:
        """The program opens this file to read it, or looks whether it is there. Whatever goes wrong here must not keep
        it from doing so."""
        if who is None or getattr(self._busy, "on", False) or not self._book.watch.alive:
            return
        self._busy.on = True
        try:
            name = os.fsdecode(path)
            if name and "://" not in name and not _is_no_input(name):
                self._meet(str(Path(name).absolute()), who)
        except Exception:
            return
        finally:
            self._busy.on = False

    def _meet(self, path: str, who: Caller) -> None:
        mark, fresh = self._look(path)
        if mark == _FOLDER or ((path, mark) in self._noted):
            return
        with self._lock:
            if len(self._noted) >= MOST:
                return
            self._noted.add((path, mark))
            digest = self._digest(path, mark)
            self._met.setdefault(path, Met(digest, mark, fresh))
        self._book.note("file", who, path, digest)

    def _look(self, path: str) -> tuple[tuple[int, int] | None, bool]:
        try:
            found = _stat(path)
        except OSError:
            return None, False
        if not stat.S_ISREG(found.st_mode):
            return _FOLDER, False
        return (found.st_size, found.st_mtime_ns), found.st_ctime_ns > self._started

    def _digest(self, path: str, mark: tuple[int, int] | None) -> bytes:
        if mark is None:
            return _MISSING
        size, changed = mark
        if size > _LARGEST or self._read + size > _READ_IN_ALL:
            return f"{size} bytes, {changed}".encode()
        self._read += size
        try:
            return xxhash.xxh3_128_digest(Path(path).read_bytes())
        except OSError:
            return _MISSING

    # what is told at the end

    def paths(self) -> list[str]:
        return list(self._met)

    def changed(self) -> list[str]:
        """Files that are not what they were when first met: the program's next run reads something else."""
        return [path for path, met in self._met.items() if self._has_changed(path, met)]

    def _has_changed(self, path: str, met: Met) -> bool:
        mark, _ = self._look(path)
        if mark == met.mark:
            return False
        if mark is None or met.mark is None or mark == _FOLDER:
            return True
        return self._digest(path, mark) != met.digest

    def fresh(self) -> list[str]:
        return [path for path, met in self._met.items() if met.fresh]


_FOLDER = (-1, -1)
_stat = os.stat


def install(book: Book) -> None:
    inputs = Inputs(book)
    book.meet = inputs.meet
    _see_opened(inputs)
    _see_looked_for(inputs)
    when_imported("h5py._hl.files", lambda module: _see_hdf(inputs, module))
    answers = book.watch.answers
    answers["inputs"] = lambda _: inputs.paths()
    answers["changed inputs"] = lambda _: inputs.changed()
    answers["fresh inputs"] = lambda _: inputs.fresh()


def _see_opened(inputs: Inputs) -> None:
    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event != "open" or getattr(own, "looking", False):
            return
        path = os.fsdecode(args[0]) if isinstance(args[0], bytes) else args[0]
        mode = args[1]
        if not isinstance(path, str) or not isinstance(mode, str) or "r" not in mode:
            return
        if path.endswith(_NOT_DATA) or path.startswith(
            _SYSTEM
        ):  # first of all: imports open thousands of them
            return
        with contextlib.suppress(ValueError):  # Python itself opens the program: there is no frame yet
            if not _by_an_import():
                inputs.meet(path, caller(2))

    sys.addaudithook(hook)


def _by_an_import() -> bool:
    """Whether a library reads this while it is imported: its own settings are no data of the program's."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not is_users(frame.f_code.co_filename):
        if str(frame.f_globals.get("__name__")).startswith("importlib._bootstrap"):
            return True
        frame = frame.f_back
    return False


def _see_hdf(inputs: Inputs, module: Any) -> None:
    """h5py, which opens its files itself."""
    original = module.make_fid

    def make_fid(name: Any, mode: Any, *args: Any, **kwargs: Any) -> Any:
        if mode in ("r", "r+", "a", None):
            inputs.meet(name, caller())
        return original(name, mode, *args, **kwargs)

    module.make_fid = make_fid


def _see_looked_for(inputs: Inputs) -> None:
    """Files that were looked for and not there. When the program has made one by its end, its next run finds it."""

    def noted_stat(path: Any, *args: Any, **kwargs: Any) -> os.stat_result:
        try:
            return _stat(path, *args, **kwargs)
        except FileNotFoundError:
            if isinstance(path, (str, bytes, os.PathLike)):
                who = caller()
                if who is not None and who.via in ("", "genericpath", "posixpath", "pathlib", "os"):
                    inputs.meet(path, who)
            raise

    stand_in("stat", noted_stat)


def _is_no_input(name: str) -> bool:
    return name.endswith(_NOT_DATA) or name.startswith(_SYSTEM) or is_library(name)
