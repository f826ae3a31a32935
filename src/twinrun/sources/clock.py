"""The clock as the program's own lines read it: recorded, frozen for an experiment, or moved for a variation. A
library's own timing is left alone."""

from __future__ import annotations

import datetime
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from twinrun.comparison.shown import AHEAD, FROZEN_TIME, TICK
from twinrun.comparison.wall_clock import Varied
from twinrun.protocol import (
    Event,
    Evidence,
    Freeze,
    Point,
    SecondLook,
    Suspect,
    Vary,
    Weight,
    Wrap,
    differs,
    one,
)
from twinrun.protocol.variation import Setting, Variation, inside
from twinrun.sources.fresh_values import FreshValues
from twinrun.twin.callers import Caller, direct_caller
from twinrun.twin.session import Session

NAME = "clock"
_FROZEN_COUNTER = 1000.0
# An action beside those that are recorded: frozen is the whole clock, from a year ahead on. That asks what a moved clock
# asks, and leaves its marks in what the program prints.
_AHEAD = "ahead"
# They measure, and do not tell the time of day.
_COUNTERS = (
    "perf_counter", "monotonic", "perf_counter_ns", "monotonic_ns", "process_time", "process_time_ns", "thread_time",
)  # fmt: skip
_now, _localtime = time.time, time.localtime
_started = _now()
_readings = itertools.count(1)

# What a function answers for a moment: takes the original (or the class that it is called on), the moment, and the
# arguments of the call.
Answer = Callable[..., Any]


def _seconds(original: Any, moment: float) -> float:
    return moment


def _nanoseconds(original: Any, moment: float) -> int:
    return int(moment * 1e9)


def _date(original: Any, moment: float, *_: None) -> Any:
    return original(moment)


def _text(original: Any, moment: float, format: str, *_: None) -> Any:
    return original(format, _localtime(moment))


def _datetime(cls: Any, moment: float, *args: Any, **kwargs: Any) -> Any:
    return cls.fromtimestamp(moment, *args, **kwargs)


def _utc(cls: Any, moment: float) -> Any:
    return cls.fromtimestamp(moment, datetime.timezone.utc).replace(tzinfo=None)


def _moment(session: Session, action: str, who: Caller, *, counts: bool = False) -> float | None:
    """What the clock is to show this line: a fixed moment, a little later at every call, where the line is frozen; a
    moved one where the clock of this twin is moved. None: now. Where the whole clock is frozen, every reading is a tick
    after the one before, wherever it is made: no duration is 0, and all are multiples of the tick."""
    if session.log.freezes_everywhere(NAME, _AHEAD):
        return (_FROZEN_COUNTER if counts else _started + AHEAD) + TICK * next(_readings)
    if session.log.frozen(NAME, action, who) is not None:
        start = _FROZEN_COUNTER if counts else FROZEN_TIME
        if session.log.freezes_everywhere(NAME):
            return start + TICK * next(_readings)
        return start + 0.001 * session.log.turns(NAME, action, who)
    moved = session.varied.get("clock") == "moved" and not counts
    return _now() + AHEAD if moved else None


def _function(name: str, action: str, answer: Answer, *, required: int = 0) -> Wrap:
    """A function of `time`. With more arguments than are required it may answer for another moment than now."""
    counts = name in _COUNTERS

    def wrap(session: Session, original: Callable[..., Any]) -> Callable[..., Any]:
        def read(*args: Any) -> Any:
            about_now = all(arg is None for arg in args[required:])
            who = direct_caller() if about_now else None
            if who is None:
                return original(*args)
            moment = _moment(session, action, who, counts=counts)
            value = original(*args) if moment is None else answer(original, moment, *args)
            session.log.record(NAME, action, who, f"time.{name}", repr(value).encode("utf-8", "replace"))
            return value

        return read

    return wrap


def _method(name: str, answer: Answer) -> Wrap:
    """A class method of date or datetime that answers for now."""

    def wrap(session: Session, original: Any) -> Any:
        def read(cls: Any, *args: Any, **kwargs: Any) -> Any:
            who = direct_caller()
            moment = None if who is None else _moment(session, "date", who)
            now = original.__get__(None, cls)
            value = now(*args, **kwargs) if moment is None else answer(cls, moment, *args, **kwargs)
            session.log.record(NAME, "date", who, name, repr(value).encode())
            return value

        return classmethod(read)

    return wrap


def _points() -> Iterator[Point]:
    answer: Answer
    for name in ("time", "time_ns", *_COUNTERS):
        answer = _nanoseconds if name.endswith("_ns") else _seconds
        yield Point(f"time:{name}", _function(name, "read", answer), "reads of the clock")
    reason = "reads of the time of day"
    for name in ("localtime", "gmtime", "ctime"):
        yield Point(f"time:{name}", _function(name, "date", _date), reason)
    yield Point("time:strftime", _function("strftime", "date", _text, required=1), reason)
    for name, answer in (("datetime.now", _datetime), ("datetime.utcnow", _utc), ("date.today", _datetime)):
        yield Point(f"datetime:{name}", _method(name, answer), "reads of the date")


def varied_clock(settings: Mapping[str, str]) -> Varied | None:
    """What the settings of a twin, by variation, changed of its clock; None where no variation has to do with clocks."""
    if not {"timezone", NAME} & settings.keys():
        return None
    return Varied(settings.get("timezone", ""), AHEAD if settings.get(NAME) == "moved" else 0.0)


def _timezone(number: int) -> Setting:
    zone = ("UTC", "Asia/Tokyo", "America/Los_Angeles")[number % 3]
    return zone, {"TZ": zone}


def _tells_time(event: Event) -> bool:
    """Whether it tells the time of day or the date, rather than measures."""
    return event.action == "date" or event.call not in [f"time.{name}" for name in _COUNTERS]


class Clock(FreshValues):
    name = NAME
    codes = ("TW303",)
    actions = ("read", "date", _AHEAD)
    messages = (("read", "the clock is read"), ("date", "the date or time is read"))
    weight = Weight(init=2, batch=3, later=5)
    points = tuple(_points())
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
                yield self.suspect(
                    [event],
                    "the time or the date reaches training",
                    notes=(f"{event.call} is read there",),
                    experiment=f"with {event.call} at {event.place} frozen",
                )

    def is_shown(self, event: Event) -> bool:
        return True

    def second_look(self, events: Iterable[Event]) -> SecondLook | None:
        for event in self.events_of(events):
            if _tells_time(event):
                why = f"{event.call} is read at {Path(event.file).name}:{event.line}"
                how = "with the clock of one twin a year ahead"
                return SecondLook(why, Vary("clock"), how, marked=Freeze(NAME, _AHEAD))
        return None
