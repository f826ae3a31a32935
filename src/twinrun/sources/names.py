"""Names and numbers that the system makes up for a process: temporary files, process ids, uuid1. No two runs get the
same, and a program that computes with one is as random as if it had drawn it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from twinrun.twin.callers import is_users
from twinrun.twin.event_log import Book, Caller, caller
from twinrun.twin.imports import when_imported

_NO_PROCESS = 1 << 22  # above every id that Linux gives: what is sent to it reaches nobody
_CLASSES = {"__init__": "TemporaryDirectory"}
_HELD = "held_"  # our own names, so that what an earlier twin left under one can be cleared away


def install(book: Book) -> None:
    os.getpid = _process_id(book, os.getpid)
    when_imported("tempfile", lambda module: _temporary_names(book, module))
    when_imported("uuid", lambda module: _uuid1(book, module))


def _process_id(book: Book, original: Callable[[], int]) -> Callable[[], int]:
    def getpid() -> int:
        frame = sys._getframe(1)
        if not is_users(frame.f_code.co_filename):  # libraries ask often, and name their own things by it
            return original()
        who = Caller(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, "", "")
        number = original() if book.steady("name", who) is None else _NO_PROCESS
        book.note("name", who, "os.getpid", str(number).encode())
        return number

    getpid.__module__, getpid.__doc__ = "os", original.__doc__
    return getpid


def _temporary_names(book: Book, module: ModuleType) -> None:
    names: Any = module._RandomNameSequence
    original = names.__next__

    def following(self: Any) -> str:
        who = caller()
        if who is None or who.via != "tempfile":
            return str(original(self))
        number = book.steady("name", who)
        name = str(original(self)) if number is None else f"{_HELD}{number:08x}"
        if number is not None:
            _clear_away(module, name)
        book.note("name", who, f"tempfile.{_CLASSES.get(who.entry, who.entry)}", name.encode())
        return name

    names.__next__ = following


def _clear_away(module: ModuleType, name: str) -> None:
    """What an earlier twin of this experiment left behind: the name must be free again to be given again."""
    if module.tempdir is None:  # it is being looked for, with a name of this sequence
        return
    for path in Path(module.tempdir).glob(f"*{name}*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _uuid1(book: Book, module: ModuleType) -> None:
    original = module.uuid1

    def uuid1(*args: Any, **kwargs: Any) -> Any:
        who = caller()
        number = book.steady("name", who)
        made = original(*args, **kwargs) if number is None else module.UUID(int=number << 64, version=1)
        if who is not None and not who.via:
            book.note("name", who, "uuid.uuid1", made.bytes)
        return made

    uuid1.__module__, uuid1.__doc__ = "uuid", original.__doc__
    module.uuid1 = uuid1  # type: ignore[attr-defined]
