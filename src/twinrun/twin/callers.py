"""Call sites in the user's own code: the nearest frame that belongs to the program and not to a library or to us."""

from __future__ import annotations

import contextlib
import csv
import os
import site
import sys
import sysconfig
import threading
from functools import lru_cache
from pathlib import Path

_scandir = os.scandir  # before the ledger puts its own there
own = threading.local()  # `looking`: files listed and opened now are our own concern, not the program's
_OURS = str(Path(__file__).absolute().parent.parent) + os.sep


@lru_cache(maxsize=1)
def _library_roots() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    roots = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    roots.update(getattr(site, "getsitepackages", list)())
    roots.add(site.getusersitepackages())
    return tuple(
        sorted({os.path.realpath(root) + os.sep for root in roots} | {root + os.sep for root in roots})
    )


@lru_cache(maxsize=4096)
def is_users(file: str) -> bool:
    """Whether a code object's file is the user's: a real file outside the interpreter's libraries and this package."""
    if file.startswith("<") or file.startswith(_OURS):
        return file.startswith("<ipython")
    if file.endswith(("__autograph_generated_file.py",)) or "__autograph_generated_file" in file:
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
    own.looking = True
    try:
        with _scandir(folder) as entries:
            records = [Path(entry.path) / "RECORD" for entry in entries if entry.name.endswith(".dist-info")]
        for record in records:
            with contextlib.suppress(OSError, ValueError, csv.Error), record.open(newline="") as file:
                found.update(row[0] for row in csv.reader(file) if row and row[0].endswith(".py"))
    except OSError:
        pass
    finally:
        own.looking = False
    return frozenset(found)


def user_site(skip: int = 1) -> tuple[str, int] | None:
    """(file, line) of the innermost frame of the user's own code, or None when there is none on this stack."""
    frame = sys._getframe(skip)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None
