"""The files that a program reads or looks for: what they held when first read, and whether they have changed since."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import xxhash

from twinrun.protocol import Freeze, Point, Source, Suspect, Weight, relative, replacement
from twinrun.protocol.evidence import Evidence, differs, one
from twinrun.protocol.facts import Inputs
from twinrun.twin.callers import Caller, caller, is_library, is_users, own, unseen
from twinrun.twin.event_log import EventLog
from twinrun.twin.session import Session

NAME = "input-files"
MOST_FILES = 1000  # that are followed
_LARGEST = 256 << 20  # bytes of a file that are read for its digest; a larger one is known by size and time
_MOST_BYTES = 1 << 30  # that are read of all files
_MARGIN = 2_000_000_000  # ns: twins do not start at the same moment
_NOT_DATA = (".py", ".pyc", ".so")
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/share/", "/usr/lib/")
_PATH_LIBRARIES = ("", "genericpath", "posixpath", "pathlib", "os")
_MAKERS = ("makedirs",)  # look only for what they are about to make
_NOT_LISTED = ("__pycache__",)
_MISSING = b""
_NOT_A_FILE = (-1, -1)
_stat = os.stat

Mark = tuple[int, int]  # size and time: where these are the same, so is the content


@dataclass(frozen=True)
class _Read:
    """A file as it was when the program first read it."""

    digest: bytes
    mark: Mark | None  # None: there was none
    fresh: bool  # written since this program started, by itself or by another
    own: bool  # in a folder where nobody else writes


class InputsRead:
    """Follows the files that are read. Whatever goes wrong here must not keep the program from reading."""

    def __init__(self, log: EventLog, own_folders: tuple[str, ...] = ()) -> None:
        self._log = log
        self._own_folders = tuple(folder + os.sep for folder in own_folders)
        self._started = time.time_ns()
        self._appended: set[str] = set()
        self._listed: dict[str, set[str]] = {}
        self._read: dict[str, _Read] = {}
        self._recorded: set[tuple[str, Mark | None]] = set()
        self._bytes = 0
        self._lock = threading.RLock()

    def record_read(self, path: Any, who: Caller | None) -> None:
        """The program opens this file to read it, or looks whether it exists."""
        if who is None or not self._log.recording:
            return
        with unseen(), contextlib.suppress(Exception):
            name = os.fsdecode(path)
            if name and "://" not in name and not _is_no_input(name):
                self._record(str(Path(name).absolute()), who)

    def record_append(self, path: str) -> None:
        """The program adds to this file: what it reads there afterwards may hold what its last run wrote."""
        with contextlib.suppress(Exception):
            self._appended.add(str(Path(path).absolute()))

    def record_listing(self, path: Any, names: Iterable[str]) -> None:
        """The program's own line lists this folder."""
        with contextlib.suppress(Exception):
            if not isinstance(path, (str, os.PathLike)):
                return
            name = os.fspath(path)
            if "://" not in name and not _is_no_input(name):
                self._listed.setdefault(str(Path(name).absolute()), {*names, *_NOT_LISTED})

    def _record(self, path: str, who: Caller) -> None:
        mark, fresh = self._look(path)
        if mark == _NOT_A_FILE or (path, mark) in self._recorded:
            return
        with self._lock:
            if len(self._recorded) >= MOST_FILES:
                return
            self._recorded.add((path, mark))
            digest = self._digest(path, mark)
            self._read.setdefault(path, _Read(digest, mark, fresh, self._is_own(path)))
        self._log.record(NAME, "read", who, path, digest, subject=path)

    def _look(self, path: str) -> tuple[Mark | None, bool]:
        try:
            found = _stat(path)
        except OSError:
            return None, False
        if not stat.S_ISREG(found.st_mode):
            return _NOT_A_FILE, False
        since = self._started - (0 if self._is_own(path) else _MARGIN)
        return (found.st_size, found.st_mtime_ns), found.st_ctime_ns > since

    def _is_own(self, path: str) -> bool:
        return path.startswith(self._own_folders)

    def _digest(self, path: str, mark: Mark | None) -> bytes:
        if mark is None:
            return _MISSING
        size, changed = mark
        if size > _LARGEST or self._bytes + size > _MOST_BYTES:
            return f"{size} bytes, {changed}".encode()
        self._bytes += size
        try:
            return xxhash.xxh3_128_digest(Path(path).read_bytes())
        except OSError:
            return _MISSING

    def report(self) -> Inputs:
        return Inputs(
            paths=list(self._read),
            changed=[path for path, read in self._read.items() if self._has_changed(path, read)]
            + [folder for folder, names in self._listed.items() if names != _names_in(folder)],
            fresh=[path for path, read in self._read.items() if read.fresh],
        )

    def _has_changed(self, path: str, read: _Read) -> bool:
        if read.own and read.fresh:
            # What the program wrote before it read it is no input, unless it added to one.
            return path in self._appended
        mark, _ = self._look(path)
        if mark == read.mark:
            return False
        if mark is None or read.mark is None or mark == _NOT_A_FILE:
            return True
        return self._digest(path, mark) != read.digest


def _names_in(folder: str) -> set[str]:
    with unseen(), contextlib.suppress(OSError):
        return {*os.listdir(folder), *_NOT_LISTED}  # noqa: PTH208
    return set()


def _is_no_input(name: str) -> bool:
    return name.endswith(_NOT_DATA) or name.startswith(_SYSTEM) or is_library(name)


def _see_opened(inputs: InputsRead) -> None:
    """Every file that Python opens, by an audit hook, which no open() can avoid."""

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event != "open" or getattr(own, "looking", False):
            return
        path = os.fsdecode(args[0]) if isinstance(args[0], bytes) else args[0]
        mode, flags = args[1:]
        if not isinstance(path, str):
            return
        if isinstance(flags, int) and flags & os.O_APPEND:
            inputs.record_append(path)
        if not isinstance(mode, str) or "r" not in mode:
            return
        if path.endswith(_NOT_DATA) or path.startswith(_SYSTEM):  # at once: imports open thousands of them
            return
        with contextlib.suppress(ValueError):  # Python itself opens the program: there is no frame yet
            if not _by_an_import():
                inputs.record_read(path, caller(2))

    sys.addaudithook(hook)


def _by_an_import() -> bool:
    """Whether a library reads this while it is imported: its own settings are no data of the program's."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not is_users(frame.f_code.co_filename):
        if str(frame.f_globals.get("__name__")).startswith("importlib._bootstrap"):
            return True
        frame = frame.f_back
    return False


@replacement
def _stat_path(session: Session, original: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return original(path, *args, **kwargs)
    except FileNotFoundError:
        if isinstance(path, (str, bytes, os.PathLike)) and session.inputs is not None:
            who = caller()
            if who is not None and who.via in _PATH_LIBRARIES and who.entry not in _MAKERS:
                session.inputs.record_read(path, who)
        raise


@replacement
def _open_hdf(session: Session, original: Any, name: Any, mode: Any, *args: Any, **kwargs: Any) -> Any:
    if mode in ("r", "r+", "a", None) and session.inputs is not None:
        session.inputs.record_read(name, caller())
    return original(name, mode, *args, **kwargs)


class InputFiles(Source):
    name = NAME
    codes = ("TW304",)
    actions = ("read",)
    weight = Weight(init=6, batch=10, later=9)
    files = True
    points = (
        # When the program has made one by its end, its next run finds it.
        Point("os:stat", _stat_path, "files that the program looks for and does not find"),
        Point("h5py._hl.files:make_fid", _open_hdf, "files that h5py opens itself", tested_on="h5py 3.14"),
    )

    def start(self, session: Session) -> None:
        inputs = InputsRead(session.log, session.spec.own_folders if session.spec is not None else ())
        session.inputs = inputs
        _see_opened(inputs)

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        read = evidence.of(self.name, "read")
        changed = [one(pair) for pair in read if None not in pair and differs(pair)]
        if not changed:
            return
        first = changed[0]
        # Files read in one run only are those that the others point to.
        paths = [event.subject for event in changed] + [one(pair).subject for pair in read if None in pair]
        yield self.suspect(
            [first],
            f"the input file {relative(first.subject)} was not the same in both runs",
            freeze=tuple(Freeze(self.name, "read", path) for path in paths),
            notes=tuple(f"{relative(event.subject)} had different content" for event in changed[:4]),
            experiment="with these files as they were before each run",
            sequential=True,
        )
