"""The clock as the program's own lines read it: recorded, frozen for an experiment, or moved for a variation. A
library's own timing is left alone."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from twinrun.protocol.event import Event
from twinrun.protocol.evidence import Evidence, differs, one
from twinrun.protocol.intervention import Freeze, Vary
from twinrun.protocol.point import Point, Wrap
from twinrun.protocol.source import SecondLook
from twinrun.protocol.suspect import Suspect, Weight
from twinrun.protocol.variation import Setting, Variation, inside
from twinrun.sources.fresh_values import FreshValues
from twinrun.twin.callers import Caller, direct_caller
from twinrun.twin.session import Session

NAME = "clock"
# Another year, month, day of the month and of the week, hour, minute, second, and fraction of a second.
AHEAD = datetime.timedelta(days=397, hours=1, minutes=1, seconds=1.25)
_FROZEN_TIME = 1_600_000_000.0
_FROZEN_COUNTER = 1000.0
_TIMES = ("time", "time_ns")
_COUNTERS = (
    "perf_counter",
    "perf_counter_ns",
    "monotonic",
    "monotonic_ns",
)  # they measure, and tell no time of day
_DATES = ("localtime", "gmtime", "ctime")
_now, _localtime = time.time, time.localtime


def ahead(session: Session) -> datetime.timedelta:
    """How far the clock of this twin is moved."""
    return AHEAD if session.varied.get("clock") == "moved" else datetime.timedelta()


def frozen_moment(session: Session, action: str, who: Caller, start: float) -> float | None:
    """A fixed moment, a little later at every call, where this line is frozen."""
    if session.log.frozen(NAME, action, who) is None:
        return None
    return start + 0.001 * session.log.turns(NAME, action, who)


def _number(name: str) -> Wrap:
    """Of `time`, the functions that give a number."""
    start = _FROZEN_COUNTER if name in _COUNTERS else _FROZEN_TIME
    in_nanoseconds = name.endswith("_ns")

    def wrap(session: Session, original: Callable[[], Any]) -> Callable[[], Any]:
        moved = 0.0 if name in _COUNTERS else ahead(session).total_seconds()

        def read() -> Any:
            value = original()
            who = direct_caller()
            if who is None:
                return value
            moment = frozen_moment(session, "read", who, start)
            if in_nanoseconds:
                value = value + int(moved * 1e9) if moment is None else int(moment * 1e9)
            else:
                value = value + moved if moment is None else moment
            session.log.record(NAME, "read", who, f"time.{name}", repr(value).encode())
            return value

        return read

    return wrap


def _date(name: str) -> Wrap:
    """Of `time`, the functions that take a moment, or none for now."""

    def wrap(session: Session, original: Callable[..., Any]) -> Callable[..., Any]:
        def read(seconds: float | None = None) -> Any:
            who = direct_caller() if seconds is None else None
            if who is None:
                return original(seconds)
            value = original(_moment(session, who))
            session.log.record(NAME, "date", who, f"time.{name}", repr(value).encode())
            return value

        return read

    return wrap


def _strftime(session: Session, original: Callable[..., str]) -> Callable[..., str]:
    def strftime(format: str, t: Any = None) -> str:
        who = direct_caller() if t is None else None
        if who is None:
            return original(format) if t is None else original(format, t)
        value = original(format, _localtime(_moment(session, who)))
        session.log.record(NAME, "date", who, "time.strftime", value.encode("utf-8", "replace"))
        return value

    return strftime


def _moment(session: Session, who: Caller) -> float:
    frozen = frozen_moment(session, "date", who, _FROZEN_TIME)
    return _now() + ahead(session).total_seconds() if frozen is None else frozen


def _today(name: str) -> Wrap:
    """A class method of date or datetime that answers for now."""

    def wrap(session: Session, original: Any) -> Any:
        def read(cls: Any, *args: Any, **kwargs: Any) -> Any:
            value = original.__get__(None, cls)(*args, **kwargs)
            who = direct_caller()
            if who is None:
                return value
            moment = frozen_moment(session, "date", who, _FROZEN_TIME)
            # By a difference, which keeps the type of a subclass.
            by = ahead(session) if moment is None else value.fromtimestamp(moment, *args, **kwargs) - value
            value = value + by
            session.log.record(NAME, "date", who, name, repr(value).encode())
            return value

        return classmethod(read)

    return wrap


def _timezone(number: int) -> Setting:
    zone = ("UTC", "Asia/Tokyo", "America/Los_Angeles")[number % 3]
    return zone, {"TZ": zone}


def _tells_time(event: Event) -> bool:
    """Whether it tells the time of day or the date, rather than measures."""
    return event.action == "date" or event.call not in [f"time.{name}" for name in _COUNTERS]


class Clock(FreshValues):
    name = NAME
    code = "TW303"
    codes = ("TW303",)
    actions = ("read", "date")
    messages = (("read", "the clock is read"), ("date", "the date or time is read"))
    weight = Weight(init=2, batch=3, later=5)
    points = (
        *(Point(f"time:{name}", _number(name), "reads of the clock", ("cause",)) for name in (*_TIMES, *_COUNTERS)),
        *(Point(f"time:{name}", _date(name), "reads of the time of day", ("cause",)) for name in _DATES),
        Point("time:strftime", _strftime, "reads of the time of day", ("cause",)),
        Point("datetime:datetime.now", _today("datetime.now"), "reads of the date", ("cause",)),
        Point("datetime:datetime.utcnow", _today("datetime.utcnow"), "reads of the date", ("cause",)),
        Point("datetime:date.today", _today("date.today"), "reads of the date", ("cause",)),
    )  # fmt: skip
    variations = (
        Variation("timezone", "the time zone", _timezone, "TW303", "the time zone reaches training"),
        Variation(
            "clock",
            "the time and date that the program's own lines read",
            inside("as is", "moved"),
            "TW303",
            "the time or the date reaches training",
        ),
    )

    def reached_by(self, variation: str, evidence: Evidence) -> Iterator[Suspect]:
        """A clock that only measures is never moved, and a time zone moves dates alone."""
        for pair in evidence.of(self.name, "read", "date"):
            event = one(pair)
            moves = _tells_time(event) if variation == "clock" else event.action == "date"
            if moves and differs(pair):
                yield Suspect(
                    source=self.name,
                    code=self.code,
                    message="the time or the date reaches training",
                    freeze=(Freeze.at(event),),
                    file=event.file,
                    line=event.line,
                    notes=(f"{event.call} is read there",),
                    experiment=f"with {event.call} at line {event.line} frozen",
                )

    def second_look(self, events: Iterable[Event]) -> SecondLook | None:
        for event in self.events_of(events):
            if _tells_time(event):
                why = f"{event.call} is read at {Path(event.file).name}:{event.line}"
                return SecondLook(why, Vary("clock"), "with the clock of one twin a year ahead")
        return None
