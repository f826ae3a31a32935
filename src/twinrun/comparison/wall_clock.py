"""What a clock on the wall may have shown while a program ran: times of day and dates, also where a variation moved the clock or
the time zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone, tzinfo
from functools import cached_property

_DAY = 86_400
_DATES = ("%Y-%m-%d", "%Y%m%d", "%Y_%m_%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")
# As ctime writes it, around a time that has been replaced.
_AROUND_TIME = ("%a %b %e <time> %Y", "%a %b %d <time> %Y")


@dataclass(frozen=True)
class Varied:
    """What a variation changed of the clock of one twin. The first twin has one too: its dates are not those of the other."""

    zone: str = ""  # its time zone; empty is the machine's
    ahead: float = 0.0  # seconds that the program's own lines are ahead


@dataclass(frozen=True)
class WallClock:
    began: float
    ended: float
    varied: Varied | None = None

    def shows(self, moment: float) -> bool:
        """Whether a number of seconds since 1970 is a moment of the run."""
        return any(self.began - 2 <= moment - shift <= self.ended + 2 for shift in self._shifts)

    @cached_property
    def seconds(self) -> frozenset[str]:
        """Every time of day of the run, to the second: as the clock on the wall shows it, in UTC, and in the zone of a variation."""
        return frozenset(day.strftime("%H:%M:%S") for moment in self._moments for day in self._days(moment))

    @cached_property
    def minutes(self) -> frozenset[str]:
        return frozenset(text[:5] for text in self.seconds)

    def hide_dates(self, line: str) -> str:
        """The line with the dates of the run replaced, where a variation gives each twin another."""
        return line if self.varied is None else self._dates.sub("<date>", line)

    @cached_property
    def _dates(self) -> re.Pattern[str]:
        days = [day for moment in (self.began, self.ended) for day in self._days_shifted(moment)]
        texts = {day.strftime(form) for day in days for form in (*_AROUND_TIME, *_DATES)}
        return re.compile(rf"(?<!\d)(?:{'|'.join(map(re.escape, sorted(texts, reverse=True)))})(?!\d)")

    @property
    def _shifts(self) -> tuple[float, ...]:
        return (0.0, self.varied.ahead) if self.varied is not None and self.varied.ahead else (0.0,)

    @property
    def _moments(self) -> Iterator[int]:
        last = min(int(self.ended) + 2, int(self.began) + _DAY)
        for shift in map(int, self._shifts):
            yield from range(int(self.began) - 1 + shift, last + shift)

    def _days_shifted(self, moment: float) -> Iterator[datetime]:
        for shift in self._shifts:
            yield from self._days(moment + shift)

    def _days(self, moment: float) -> Iterator[datetime]:
        for zone in (None, timezone.utc, *self._zones):
            yield datetime.fromtimestamp(moment, zone)

    @cached_property
    def _zones(self) -> tuple[tzinfo, ...]:
        from zoneinfo import ZoneInfo

        try:
            return (ZoneInfo(self.varied.zone),) if self.varied is not None and self.varied.zone else ()
        except (OSError, ValueError, KeyError):  # unknown on this machine: then it is UTC for the program too
            return ()
