"""Names and numbers that the system makes up for a process: temporary files, process ids, `uuid.uuid1`. No two runs get
the same, and a program that computes with one is as random as if it had drawn it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from twinrun.protocol.event import Event
from twinrun.protocol.point import Point
from twinrun.protocol.suspect import Weight
from twinrun.sources.fresh_values import FreshValues
from twinrun.twin.callers import Caller, caller, is_users
from twinrun.twin.session import Session

NAME = "names"
_NO_PROCESS = 1 << 22  # above every id that Linux gives: what is sent to it reaches nobody
_FROZEN = "frozen_"  # how our own temporary names start


def _process_id(session: Session, original: Callable[[], int]) -> Callable[[], int]:
    def getpid() -> int:
        frame = sys._getframe(1)
        if not is_users(frame.f_code.co_filename):  # libraries ask often, and name their own things by it
            return original()
        who = Caller(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        return session.log.value(
            NAME,
            "make",
            who,
            "os.getpid",
            original,
            lambda _: _NO_PROCESS,
            lambda number: str(number).encode(),
        )

    return getpid


def _temporary_name(session: Session, original: Callable[[Any], str]) -> Callable[[Any], str]:
    def __next__(self: Any) -> str:  # noqa: N807
        who = caller()
        if who is None or who.via != "tempfile":
            return original(self)
        function = "TemporaryDirectory" if who.entry == "__init__" else who.entry
        return session.log.value(
            NAME, "make", who, f"tempfile.{function}", lambda: original(self), _free_name, str.encode
        )

    return __next__


def _free_name(number: int) -> str:
    """The name for a number. What an earlier twin of the experiment left behind under it is removed."""
    name = f"{_FROZEN}{number:08x}"
    folder = sys.modules[
        "tempfile"
    ].tempdir  # None while it is being looked for, with a name of this sequence
    for path in Path(folder).glob(f"*{name}*") if folder is not None else ():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return name


def _uuid1(session: Session, original: Callable[..., Any]) -> Callable[..., Any]:
    def uuid1(*args: Any, **kwargs: Any) -> Any:
        who = caller()
        if who is None or who.via:
            return original(*args, **kwargs)
        return session.log.value(
            NAME,
            "make",
            who,
            "uuid.uuid1",
            lambda: original(*args, **kwargs),
            frozen,
            lambda made: made.bytes,
        )

    def frozen(number: int) -> Any:
        return sys.modules["uuid"].UUID(int=number << 64, version=1)

    return uuid1


class Names(FreshValues):
    name = NAME
    codes = ("TW108",)
    actions = ("make",)
    messages = (("make", "a name or number that the system makes up for each run is used"),)
    advice = "use it to name things and nothing else: what training needs comes from a seeded generator or the configuration"
    weight = Weight(init=4, batch=5, later=4)
    points = (
        Point("os:getpid", _process_id, "process ids that the program reads", ("cause",)),
        Point(
            "tempfile:_RandomNameSequence.__next__", _temporary_name, "names of temporary files", ("cause",)
        ),
        Point("uuid:uuid1", _uuid1, "uuid1, which holds the time and the machine", ("cause",)),
    )

    def is_sequential(self, event: Event) -> bool:
        """A temporary name is free for one run at a time."""
        return event.call.startswith("tempfile.")
