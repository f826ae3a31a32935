"""Dates that stand still, for an experiment: `datetime.now()` and its like give the same in every run."""

from __future__ import annotations

import datetime
import time
from typing import Any

_INSTANT = 1_600_000_000.0


def freeze() -> None:
    real = datetime.datetime

    class FrozenDatetime(real):  # type: ignore[misc, valid-type]
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return real.fromtimestamp(_INSTANT, tz)

        @classmethod
        def utcnow(cls) -> Any:
            return real.fromtimestamp(_INSTANT, datetime.timezone.utc).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return real.fromtimestamp(_INSTANT)

    class FrozenDate(datetime.date):
        @classmethod
        def today(cls) -> Any:
            return datetime.date.fromtimestamp(_INSTANT)

    datetime.datetime = FrozenDatetime  # type: ignore[misc]
    datetime.date = FrozenDate  # type: ignore[misc]
    localtime, gmtime, strftime, ctime = time.localtime, time.gmtime, time.strftime, time.ctime
    time.localtime = lambda seconds=None: localtime(_INSTANT if seconds is None else seconds)
    time.gmtime = lambda seconds=None: gmtime(_INSTANT if seconds is None else seconds)
    time.ctime = lambda seconds=None: ctime(_INSTANT if seconds is None else seconds)
    time.strftime = lambda form, t=None: strftime(form, localtime(_INSTANT) if t is None else t)
