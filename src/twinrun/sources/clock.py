"""The clock as the program's own lines read it: noted, held still for an experiment, or moved for a variation. A
library's own timing is no business of the program's, and is left alone."""

from __future__ import annotations

import ctypes
import datetime
import gc
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from twinrun.twin.callers import is_users
from twinrun.twin.event_log import Book, Caller, caller

# Another year, month, day of the month and of the week, hour, minute, second, and fraction of a second.
AHEAD = datetime.timedelta(days=397, hours=1, minutes=1, seconds=1.25)
_STILL = 1_600_000_000.0
_now, _localtime = time.time, time.localtime


def install(book: Book) -> None:
    ahead = AHEAD if book.watch.spec.varied.get("clock") == "moved" else datetime.timedelta()
    for name in ("time", "time_ns"):
        setattr(time, name, _number(book, name, getattr(time, name), _STILL, ahead.total_seconds()))
    for name in ("perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns"):
        setattr(time, name, _number(book, name, getattr(time, name), 1000.0, 0.0))
    for name in ("localtime", "gmtime", "ctime"):
        setattr(time, name, _date(book, name, getattr(time, name), ahead.total_seconds()))
    time.strftime = _strftime(book, time.strftime, ahead.total_seconds())
    for kind, names in ((datetime.datetime, ("now", "utcnow")), (datetime.date, ("today",))):
        for name in names:
            _patch_type(kind, name, _moment(book, f"{kind.__name__}.{name}", kind.__dict__[name], ahead))


def _reader() -> Caller | None:
    """The line of the user's that asks, where it asks itself."""
    frame: FrameType = sys._getframe(2)
    file = frame.f_code.co_filename
    if is_users(file):
        return Caller(file, frame.f_lineno, frame.f_code.co_name, "", "")
    return caller(3) if "__autograph_generated_file" in file else None


def _instant(book: Book, kind: str, who: Caller, still: float) -> float | None:
    """A fixed moment, a little later at every call, where this line is to be held still."""
    if book.steady(kind, who) is None:
        return None
    return still + 0.001 * book.turns(kind, who)


def _number(
    book: Book, name: str, original: Callable[[], Any], still: float, ahead: float
) -> Callable[[], Any]:
    def read() -> Any:
        value = original()
        who = _reader()
        if who is None:
            return value
        instant = _instant(book, "clock", who, still)
        if name.endswith("_ns"):
            value = value + int(ahead * 1e9) if instant is None else int(instant * 1e9)
        else:
            value = value + ahead if instant is None else instant
        book.note("clock", who, f"time.{name}", repr(value).encode())
        return value

    read.__name__, read.__module__, read.__doc__ = name, "time", original.__doc__
    return read


def _date(book: Book, name: str, original: Callable[..., Any], ahead: float) -> Callable[..., Any]:
    """Of `time`, the functions that take a moment, or none for now."""

    def read(seconds: float | None = None) -> Any:
        who = _reader() if seconds is None else None
        if who is None:
            return original(seconds)
        instant = _instant(book, "date", who, _STILL)
        value = original(_now() + ahead if instant is None else instant)
        book.note("date", who, f"time.{name}", repr(value).encode())
        return value

    read.__name__, read.__module__, read.__doc__ = name, "time", original.__doc__
    return read


def _strftime(book: Book, original: Callable[..., str], ahead: float) -> Callable[..., str]:
    def strftime(format: str, t: Any = None) -> str:
        who = _reader() if t is None else None
        if who is None:
            return original(format) if t is None else original(format, t)
        instant = _instant(book, "date", who, _STILL)
        value = original(format, _localtime(_now() + ahead if instant is None else instant))
        book.note("date", who, "time.strftime", value.encode("utf-8", "replace"))
        return value

    strftime.__module__, strftime.__doc__ = "time", original.__doc__
    return strftime


def _moment(book: Book, name: str, original: Any, ahead: datetime.timedelta) -> Any:
    """A class method of date or datetime that answers for now."""

    def read(cls: Any, *args: Any, **kwargs: Any) -> Any:
        value = original.__get__(None, cls)(*args, **kwargs)
        who = _reader()
        if who is None:
            return value
        instant = _instant(book, "date", who, _STILL)
        if instant is not None:
            later = value.fromtimestamp(instant, *args, **kwargs) - value
            value = value + later
        else:
            value = value + ahead
        book.note("date", who, name, repr(value).encode())
        return value

    read.__name__, read.__doc__ = name.rpartition(".")[2], original.__doc__
    return classmethod(read)


def _patch_type(kind: type, name: str, method: Any) -> None:
    """Put a method into a type that Python itself keeps closed. A class of our own in its place would be another type:
    programs pickle dates and ask for their type. Seen to work on CPython 3.11."""
    members = gc.get_referents(kind.__dict__)
    if members and isinstance(members[0], dict) and name in members[0]:
        members[0][name] = method
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
