"""Which line of the user's led here? Tells the user's own code from libraries and from Twinrun itself, and finds the line
to blame for what a library does on the user's behalf."""

from __future__ import annotations

import contextlib
import csv
import os
import site
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

_scandir = os.scandir  # before a source replaces it
own = threading.local()  # `looking`: files listed and opened now are Twinrun's concern, not the program's
_OURS = str(Path(__file__).absolute().parent.parent) + os.sep
_PACKAGE = "twinrun"
_STARTED_BY = "_twinrun_started_by"  # attribute of a thread


@dataclass(frozen=True)
class Caller:
    """The user's line that led to a use of a source, and what lies between."""

    file: str
    line: int
    function: str
    via: str = ""  # the library that the user's line called
    # How a library called the user's code: "py_function", "generator", "loader", "graph", …
    context: str = ""
    near: str = ""  # the library that used the source
    entry: str = ""  # the function of a library that the user's line called


class Conventions:
    """How frameworks call back into the user's code. They add their own when they are attached."""

    def __init__(self) -> None:
        # Parts of file names by which a library calls back into the user's code, each with what that means. An outer
        # context wins over those marked as weak: a generator runs inside a py_function.
        self.contexts: dict[str, str] = {}
        self.weak_contexts: set[str] = set()
        # Files that hold a generated copy of the user's function, and who finds file, line and function of a frame there.
        self.generated: dict[str, Callable[[FrameType], tuple[str, int, str] | None]] = {}
        # By library: the line to blame for what that library draws by itself.
        self.blames: dict[str, Callable[[Caller], Caller]] = {}

    def is_generated(self, file: str) -> bool:
        return any(marker in file for marker in self.generated)


conventions = Conventions()


@lru_cache(maxsize=1)
def _library_roots() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    roots = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    roots.update(getattr(site, "getsitepackages", list)())
    roots.add(site.getusersitepackages())
    return tuple(root + os.sep for root in {*roots, *map(os.path.realpath, roots)})


@lru_cache(maxsize=4096)
def is_users(file: str) -> bool:
    """Whether a code object's file is the user's: a real file outside the interpreter's libraries and this package."""
    if file.startswith("<") or file.startswith(_OURS):
        return file.startswith("<ipython")
    if conventions.is_generated(file):
        return False
    absolute = str(Path(file).absolute())
    return not (is_library(file) or absolute.startswith(_OURS) or _was_installed(absolute))


def is_library(file: str) -> bool:
    """Whether a file lies among the interpreter's libraries, or those of another environment: PYTHONPATH may point
    there."""
    absolute = str(Path(file).absolute())
    if any(f"{os.sep}{name}{os.sep}" in absolute for name in ("site-packages", "dist-packages")):
        return True
    return absolute.startswith(_library_roots())


def _was_installed(absolute: str) -> bool:
    """Whether an installer put this file there, as `pip install --target FOLDER` does: then the record of some package
    beside it names it. An editable install leaves a record too, which names none of the files that are worked on."""
    folder, _, rest = absolute.rpartition(os.sep)
    while folder:
        if rest in _installed_in(folder):
            return True
        folder, _, name = folder.rpartition(os.sep)
        rest = f"{name}/{rest}"
    return False


@lru_cache(maxsize=1024)
def _installed_in(folder: str) -> frozenset[str]:
    """What the records of the packages in this folder name, relative to it, with forward slashes."""
    found: set[str] = set()
    with unseen(), contextlib.suppress(OSError):
        with _scandir(folder) as entries:
            records = [Path(entry.path) / "RECORD" for entry in entries if entry.name.endswith(".dist-info")]
        for record in records:
            with contextlib.suppress(OSError, ValueError, csv.Error), record.open(newline="") as file:
                found.update(row[0] for row in csv.reader(file) if row and row[0].endswith(".py"))
    return frozenset(found)


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """What this thread does meanwhile is Twinrun's own doing: no line of the program's led to it."""
    before = getattr(own, "looking", False)
    own.looking = True
    try:
        yield
    finally:
        own.looking = before


def is_unseen() -> bool:
    """Whether this thread is about something of Twinrun's own."""
    return bool(getattr(own, "looking", False))


def user_site(skip: int = 1) -> tuple[str, int] | None:
    """(file, line) of the innermost frame of the user's own code, or None when there is none on this stack."""
    frame: FrameType | None = sys._getframe(skip)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def caller(skip: int = 2, passes: Callable[[FrameType, str], bool] | None = None) -> Caller | None:
    """The user's line that led here, `skip` frames up at the nearest. None when no frame of the user's is on this
    stack. `passes` tells which frames of the user's only act for the library that they are given with: the line that
    called them is taken instead."""
    if is_unseen():
        return None
    frame: FrameType | None = sys._getframe(skip)
    via = near = entry = ""
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if is_users(file):
            if passes is None or not passes(frame, via):
                return Caller(file, frame.f_lineno, code.co_name, via, _outer_context(frame), near, entry)
            entry = code.co_name
        elif conventions.is_generated(file):
            found = _original_line(frame)
            if found is not None:
                return Caller(*found, via, "graph", near, entry)
        elif package := _package(frame):
            via, entry = package, entry if entry and code.co_name in _WRAPPERS else code.co_name
            near = near or via
        frame = frame.f_back
    return None


def thread_starter() -> Caller | None:
    """The user's line that led to the start of this thread: the one to blame for what a library draws in a thread of its
    own, where no frame is the user's."""
    return None if is_unseen() else getattr(threading.current_thread(), _STARTED_BY, None)


def note_start(thread: threading.Thread, who: Caller | None) -> None:
    """This line starts a thread, or else the line that led to the thread which does."""
    setattr(thread, _STARTED_BY, who or thread_starter())


def blamed_caller() -> Caller | None:
    """The line to blame for a draw: the one that led here, or the one that made what draws."""
    who = caller(3)
    if who is None:
        return None
    blame = conventions.blames.get(who.via) or conventions.blames.get(who.near)
    return blame(who) if blame is not None else who


def direct_caller() -> Caller | None:
    """The user's line, where it calls by itself and not through a library."""
    frame: FrameType = sys._getframe(2)
    file = frame.f_code.co_filename
    if is_users(file):
        return Caller(file, frame.f_lineno, frame.f_code.co_name)
    return caller(3) if conventions.is_generated(file) else None


def user_line(trace: Iterable[Any]) -> tuple[str | None, int | None]:
    """The innermost line of the user's, in a trace that starts with the outermost."""
    users = [frame for frame in trace if is_users(frame.filename)]
    return (users[-1].filename, users[-1].lineno) if users else (None, None)


# Functions around the one that a user knows by name.
_WRAPPERS = (
    "wrapper", "_wrapper", "inner", "inner_f", "wrapped", "decorated", "error_handler", "op_dispatch_handler",
    "custom_init", "__call__",
)  # fmt: skip


def _package(frame: FrameType) -> str:
    name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return "" if name in (_PACKAGE, "wrapt") else name


def _outer_context(frame: FrameType | None) -> str:
    found = module = ""
    depth = 0
    while frame is not None and depth < 60:
        file = frame.f_code.co_filename
        if frame.f_code.co_name == "<module>":
            module = str(frame.f_globals.get("__name__", ""))
        elif module and not found and file.startswith("<frozen importlib"):
            found = f"import of {module}"
        for part, context in conventions.contexts.items():
            if part in file:
                if context not in conventions.weak_contexts:
                    return context
                found = context
        frame = frame.f_back
        depth += 1
    return found


def _original_line(frame: FrameType) -> tuple[str, int, str] | None:
    for marker, origin in conventions.generated.items():
        if marker in frame.f_code.co_filename:
            return origin(frame)
    return None
