"""Lines of output that differ and yet hold the same results: what in them only shows when, where or how fast the program
ran. Some of it is recognised by what is known of the run (its time, its process); the rest must be equal once the clock
and generated names are frozen, and must look like what it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Literal

from twinrun.comparison.wall_clock import Varied, WallClock

# A clock that is frozen everywhere begins here, and is a tick later at every reading.
FROZEN_TIME, TICK = 1_600_000_000.0, 1.37
# How far a clock is moved: another year, month, day of the month and of the week, hour, minute, second, and fraction of
# a second.
AHEAD = timedelta(days=397, hours=1, minutes=1, seconds=1.25).total_seconds()
# The frozen process number: above every one that Linux gives, so what is sent to it reaches nobody.
NO_PROCESS = 1 << 22

_MOST_TICKS = 2000
_NO_CHANCE = 6  # digits behind the point: of a million other numbers with as many, one or two are whole ticks

# What a program drew at random, and differently: nothing, a scalar or two as for the name of a run, or anything at all.
Drawn = Literal["nothing", "names", "anything"]

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_BAR = re.compile(r"\d+%\|.*\|.*\[.*\]|\d+it \[\d\d:\d\d,")  # tqdm's
_ADDRESS = re.compile(r"\b0x[0-9a-f]{8,16}\b")
_NUMBER = re.compile(r"(?<![^\W_])(?<![\d.]\.)\d+(?:\.\d+)?(?!\w|\.\d)|(?<![\d.])\d{14,15}(?![\d.])")
_MOMENT = re.compile(r"\d{10}(?:\.\d+)?|\d{13}|\d{16}|\d{19}")
# Behind a comma stand thousandths of a second where the line goes on, as loggers write it; else it may be the next column.
_TIME_OF_DAY = re.compile(
    r"(?<!\d)(?:\d{4}-?\d\d-?\d\d[-_T@ ]?(\d\d)[-_:.h]?(\d\d)[-_:.m]?(\d\d)|(\d\d):(\d\d):(\d\d))"
    r"(?:\.\d+|,\d{3}(?:\.\d+)?(?=[\s\]):|-]))?(?!\d)"
)
# As uuid1 and uuid4 make them: the version is a part of it.
_UUID = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[14][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b", re.IGNORECASE
)
_PORT = re.compile(r"(localhost|\d+\.\d+\.\d+\.\d+):\d{2,5}\b")
_HOUR = re.compile(r"(?<![\d:])(\d\d):(\d\d)(?![\d:])")
_PROCESSES = re.compile(r"<process>(?:, ?<process>)+")
_SMALLEST = 1000  # the number of a process that is taken for one wherever it stands
_ABOUT_PROCESSES = re.compile(r"\b(process(es)?|p?pids?)\b", re.IGNORECASE)
_USER_SPACE = range(0x5000_0000_0000, 0x8000_0000_0000)  # where Linux puts the objects of a process

# A number with what clings to it, a word, or a sign.
_WORD = re.compile(r"<\w+>|\d+(?:\.\d+)?(?:e[-+]?\d+)?[^\W_]*|[^\W\d_][^\W_]*|[^\s]")
_PATH_WORD = re.compile(r"<\w+>|[^\s/\"'(),:;=]+|[^\s]")  # temporary names may hold underscores
_VALUE = re.compile(r"([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(.*)", re.IGNORECASE)
_UNITS = {
    "s", "sec", "secs", "second", "seconds", "ms", "msec", "us", "µs", "ns", "m", "min", "mins", "minute", "minutes",
    "h", "hr", "hrs", "hour", "hours", "fps", "it/s", "s/it", "msecs", "millis", "milliseconds", "microseconds",
}  # fmt: skip
_ABOUT_TIME = re.compile(
    r"(wall|run)?times?|took|elapsed|duration|secs?|seconds|eta|wall|clock|latency|speed|throughput|fps|ms|timestamp|date",
    re.IGNORECASE,
)
_ABOUT_MEMORY = re.compile(r"memory|\bmem\b|rss|\bram\b|vram|heap|peak", re.IGNORECASE)
# What stands before a duration that no frozen clock reaches: a library's own, or the processor's.
_BEFORE_DURATION = re.compile(
    r"in|took|after|elapsed|.*time.*|total|waited|waiting|for|eta|cpu|wall|user|sys|duration|slept|sleeping",
    re.IGNORECASE,
)
# What stands before a name that a program draws for its run.
_NAMES = r"runs?|name|nick\w*|id|exp|experiments?|job|session|tag|port|project"
# What stands before one that is made of a uuid; elsewhere, a hexadecimal number may be a checksum of a result.
_PLACES = r"outputs?|logs?|checkpoints?|ckpts?|dir|folder|to|into|path|file|artifacts?|cache"
# The parts of a name are joined: the loss in "run 3 loss 0.5" is none.
_BEFORE_NAME = re.compile(rf"(?<![^\W_])({_NAMES})[\s:=#\-_/\"']*([\w.<>]+[\-_./])*$", re.IGNORECASE)
_BEFORE_PLACE = re.compile(
    rf"(?<![^\W_])({_NAMES}|{_PLACES})[\s:=#\-_/\"']*([\w.<>]+[\-_./])*$", re.IGNORECASE
)
# Of a robot, say: a result, and no rate of the program.
_VELOCITY = re.compile(r"\s*(?:[kcm]?m|rad|deg|rev|mi|ft)\s?/")
_RATE = re.compile(
    r"\s*\w*\s?/\s?(s|sec|second|min)\b|\s*(s|ms|us|µs)/(it|step|epoch|batch)\b|\s*\w+ per (second|minute)"
)
_BYTES = re.compile(r"([kmgt]i?)?b|bytes", re.IGNORECASE)
_HEX = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{6,}", re.IGNORECASE)
_FROZEN_NAME = re.compile(r"frozen_[0-9a-f]{8}")  # as the frozen source of names makes them


@dataclass(frozen=True)
class Run:
    """What is known of one run of the program: its process, and when it began and ended."""

    process: int
    began: float
    ended: float
    relatives: frozenset[int] = frozenset()  # the processes that started it, and those it started
    varied: Varied | None = None  # what a variation changed of its clock

    def hide(self, line: str) -> str:
        """The line with what is known to show this very run replaced."""
        line = _ADDRESS.sub(lambda found: "<address>" if int(found[0], 16) in _USER_SPACE else found[0], line)
        line = _UUID.sub("<uuid>", line)
        line = _PORT.sub(r"\1:<port>", line)
        line = _TIME_OF_DAY.sub(self._time_of_day, line)
        line = _HOUR.sub(lambda found: "<time>" if found[0] in self._clock.minutes else found[0], line)
        line = self._clock.hide_dates(line)
        processes = self._processes if _ABOUT_PROCESSES.search(line) else self._large_processes
        line = _NUMBER.sub(lambda found: self._number(found[0], processes), line)
        return _PROCESSES.sub("<process>", line)  # of a pool, one worker may have done it all

    def _number(self, text: str, processes: frozenset[str]) -> str:
        if text in processes:
            return "<process>"
        if text.isdigit() and int(text) in _USER_SPACE:
            return "<address>"
        if _MOMENT.fullmatch(text):
            whole = text.partition(".")[0]
            seconds = float(text) / 10 ** (len(whole) - 10)
            if self._clock.shows(seconds):
                return "<time>"
        return text

    def _time_of_day(self, found: re.Match[str]) -> str:
        shown = ":".join(group for group in found.groups() if group)
        return "<time>" if shown in self._clock.seconds else found[0]

    @cached_property
    def ahead(self) -> Run:
        """What a clock shows that was frozen in this run and began ahead of it."""
        return Run(NO_PROCESS, self.began + AHEAD, self.began + AHEAD + _MOST_TICKS * TICK)

    @cached_property
    def _processes(self) -> frozenset[str]:
        return frozenset(map(str, (self.process, *self.relatives)))

    @cached_property
    def _large_processes(self) -> frozenset[str]:
        """Without small numbers: in a container, that of a process may well be a result too."""
        return frozenset(text for text in self._processes if int(text) >= _SMALLEST)

    @cached_property
    def _clock(self) -> WallClock:
        return WallClock(self.began, self.ended, self.varied)


FROZEN = Run(
    NO_PROCESS, FROZEN_TIME, FROZEN_TIME + _MOST_TICKS * TICK
)  # what a frozen clock shows of any run


def visible_lines(text: str) -> list[str]:
    """The lines that a terminal shows in the end, without colours: what a carriage return overwrites is gone, and so are
    progress bars."""
    lines = []
    for raw in text.split("\n"):
        line = _ANSI.sub("", raw).replace("\b", "").rstrip("\r ").rpartition("\r")[2].rstrip()
        if not _BAR.search(line):
            lines.append(line)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def only_shows(
    a: str, b: str, frozen: Sequence[str] | None, heading: str = "", *, drawn: Drawn = "nothing"
) -> bool:
    """Whether two differing lines differ only in times, durations, rates, generated names and the like. `frozen` holds the
    lines in two runs with the clock and generated names frozen: what is equal there need only look like one of these, what
    still differs must be beyond doubt. Or it holds the line in one such run, which must show that it has the value from
    there. `heading` names the column of the value where the line does not. `drawn`: random draws or seeds that differed
    too, so that what looks made up may be a result in disguise."""
    rows = _in_words((a, b, *(frozen or ())))
    if len(rows[0]) != len(rows[1]):
        return False
    settled = [[each[0] for each in row] if len(row) == len(rows[0]) else None for row in rows[2:]]
    for number, (one, other) in enumerate(zip(rows[0], rows[1], strict=True)):
        if one[0] == other[0]:
            continue
        value = _Differing(one[0], other[0], f"{heading} {a[: one.start()]}", a[one.end() :])
        if value.is_beyond_doubt():
            continue
        words = {row[number] if row else None for row in settled}
        if frozen and len(frozen) == 1:
            if not value.is_marked(words.pop()):
                return False
            continue
        if not frozen or (None not in words and len(words) > 1) or (None in words and frozen[0] != frozen[1]):
            return False
        shown = words.pop() or ("<process>" if "<process>" in frozen[0] and value.may_be_process() else None)
        if not value.looks_shown(shown, drawn):
            return False
    return True


def _in_words(lines: Sequence[str]) -> list[list[re.Match[str]]]:
    """The words of each line, where a name in a path is one word if it is a temporary one in the last line, which is frozen
    if any line is."""
    if not _FROZEN_NAME.search(lines[-1]):
        return [list(_WORD.finditer(line)) for line in lines]
    rows = [list(_PATH_WORD.finditer(line)) for line in lines]
    if len({len(row) for row in rows}) > 1:
        return rows
    split: list[list[re.Match[str]]] = [[] for _ in rows]
    for names in zip(*rows, strict=True):
        parts = [list(_WORD.finditer(name.string, *name.span())) for name in names]
        whole = _FROZEN_NAME.search(names[-1][0]) or len({len(each) for each in parts}) > 1
        for row, name, words in zip(split, names, parts, strict=True):
            row.extend([name] if whole else words)
    return split


@dataclass(frozen=True)
class _Differing:
    """One word of a line in two runs, with the text around it."""

    one: str
    other: str
    before: str
    after: str

    @cached_property
    def unit(self) -> str | None:
        """What two numbers are counted in; None for what are not numbers of one unit."""
        values = [_VALUE.fullmatch(word) for word in (self.one, self.other)]
        units = {value[2] for value in values if value}
        if not all(values) or len(units) > 1:
            return None
        if _VELOCITY.match(f"{min(units)}{self.after}"):
            return None
        return units.pop() or (re.match(r"\s*([\w%µ]*)", self.after) or ["", ""])[1]

    @cached_property
    def near(self) -> list[str]:
        return re.findall(r"[^\W_]+|%", self.before)[-3:]

    def is_beyond_doubt(self) -> bool:
        """A rate, a duration or an amount of memory by the words around it."""
        if self.unit is None:
            return False
        suffix = (_VALUE.fullmatch(self.one) or ["", "", ""])[2]
        if _RATE.match(suffix + self.after):
            return True
        if self.unit in _UNITS:
            return any(_BEFORE_DURATION.fullmatch(word) for word in self.near[-2:])
        return _BYTES.fullmatch(self.unit) is not None and any(
            _ABOUT_MEMORY.search(word) for word in self.near
        )

    def may_be_process(self) -> bool:
        return all(word.isdigit() and 1 < int(word) < NO_PROCESS for word in (self.one, self.other))

    def is_count(self) -> bool:
        """Small whole numbers: "best run 3" is a choice, and no name."""
        return all(word.isdigit() and len(word) < 4 for word in (self.one, self.other))

    def is_about_time(self) -> bool:
        words = self.near[-2:]
        return self.unit is not None and (self.unit in _UNITS or any(map(_ABOUT_TIME.fullmatch, words)))

    def is_marked(self, frozen: str | None) -> bool:
        """Whether this can only come from what is frozen. A number alone may be one of ticks by chance."""
        if frozen is None or frozen == "<time>" or _FROZEN_NAME.search(frozen):
            return frozen is not None
        ticks = (_VALUE.fullmatch(frozen) or ["", ""])[1]
        telling = self.is_about_time() or len(ticks.partition(".")[2]) >= _NO_CHANCE
        return telling and _is_ticks(ticks) and float(ticks) != 0

    def looks_shown(self, frozen: str | None, drawn: Drawn) -> bool:
        if frozen is not None and (frozen in ("<time>", "<process>") or _FROZEN_NAME.search(frozen)):
            return True
        if self.is_about_time():
            return True
        if frozen is not None and _is_ticks(frozen):  # of the frozen clock: nothing else is
            return True
        if drawn != "anything" and not self.is_count() and _BEFORE_NAME.search(self.before):
            return True
        if drawn != "nothing":
            return False
        hexadecimal = all(map(_HEX.fullmatch, (self.one, self.other)))
        return hexadecimal and _BEFORE_PLACE.search(self.before) is not None


def _is_ticks(text: str) -> bool:
    """Whether a number is a whole number of ticks, to the digits that it has: a duration by the frozen clock."""
    whole, _, digits = text.partition(".")
    if len(digits) < 2 or not digits.isdigit() or not whole.lstrip("-").isdigit():
        return False
    value = abs(float(text))
    ticks = round(value / TICK)
    return ticks <= _MOST_TICKS and abs(value - ticks * TICK) <= 0.5 * 10 ** -min(len(digits), 6) + 1e-6
