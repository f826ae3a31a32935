"""Names and numbers that the system makes up for a process: temporary files, process ids, `uuid.uuid1`. No two runs get
the same, and a program that computes with one is as random as if it had drawn it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from twinrun.comparison.shown import NO_PROCESS
from twinrun.protocol import Event, Point, Weight, replacement
from twinrun.sources.fresh_values import FreshValues
from twinrun.twin.callers import caller, direct_caller
from twinrun.twin.session import Session

NAME = "names"
_FROZEN = "frozen_"  # how our own temporary names start


def _process_id(session: Session, original: Callable[[], int]) -> Callable[[], int]:
    """Note a process number that the program's own lines ask for: libraries ask often, to name their own things."""
    call = f"os.{original.__name__}"

    def number() -> int:
        who = direct_caller()
        if who is None:
            return original()
        return session.log.value(NAME, "make", who, call, original, lambda _: NO_PROCESS)

    return number


@replacement
def _temporary_name(session: Session, original: Callable[[Any], str], self: Any) -> str:
    who = caller()
    if who is None or who.via != "tempfile":
        return original(self)
    call = "tempfile.TemporaryDirectory" if who.entry == "__init__" else f"tempfile.{who.entry}"
    return session.log.value(NAME, "make", who, call, lambda: original(self), _free_name)


def _free_name(number: int) -> str:
    """The name for a number. What an earlier twin of the experiment left behind under it is removed."""
    name = f"{_FROZEN}{number:08x}"
    folder = sys.modules["tempfile"].tempdir
    # None: it is being looked for, with a name of this sequence.
    for path in Path(folder).glob(f"*{name}*") if folder is not None else ():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return name


@replacement
def _uuid1(session: Session, original: Any, *args: Any, **kwargs: Any) -> Any:
    def real() -> Any:
        return original(*args, **kwargs)

    def frozen(number: int) -> Any:
        return sys.modules["uuid"].UUID(int=number << 64, version=1)

    who = caller()
    if who is None or who.via:
        return real()
    return session.log.value(NAME, "make", who, "uuid.uuid1", real, frozen)


class Names(FreshValues):
    name = NAME
    codes = ("TW108",)
    actions = ("make",)
    messages = (("make", "a name or number that the system makes up for each run is used"),)
    advice = "use it to name things and nothing else: what training needs comes from a seeded generator or the configuration"
    weight = Weight(init=4, batch=5, later=4)
    points = (
        Point("os:getpid", _process_id, "process ids that the program reads"),
        Point("os:getppid", _process_id, "the process that started the program"),
        Point("tempfile:_RandomNameSequence.__next__", _temporary_name, "names of temporary files"),
        Point("uuid:uuid1", _uuid1, "uuid1, which holds the time and the machine"),
    )

    def is_shown(self, event: Event) -> bool:
        return True

    def is_sequential(self, event: Event) -> bool:
        """A temporary name is free for one run at a time."""
        return event.call.startswith("tempfile.")
