"""The live line: how long it has taken, both twins' step, and what is being tried. On stderr, and only on a terminal: elsewhere
verbs that take minutes without a word print what is being tried, a line each."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from twinrun.launch.options import Screen
from twinrun.terminal import inline, pass_on, say

if TYPE_CHECKING:
    from rich.text import Text

    from twinrun.comparison.judge import Judge
    from twinrun.launch.twin_process import Twin
    from twinrun.result import CheckResult

Known = Callable[["CheckResult"], None]  # prints a verdict while the search for its cause begins


def screen(quiet: bool, known: Known = lambda _: None, *, lines: bool = False) -> Screen:
    """`lines`: what is being tried is printed where there is no terminal."""
    if not quiet and sys.stderr.isatty():
        return LiveLine(known)
    return Lines(known) if lines and not quiet else NoLine(known)


class NoLine(Screen):
    def __init__(self, known: Known) -> None:
        self._known = known

    def known(self, result: CheckResult) -> None:
        self._known(result)


class Lines(NoLine):
    """Progress as plain lines, for a file or the log of a CI system."""

    def say(self, text: str, deadline: float | None = None) -> None:
        say(inline(text))


class ProgramOutput(Screen):
    """What a program prints, on stderr, line by line as it comes. `mask` hides what it must not show."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._begun: dict[str, bytes] = {}  # the line that has no end yet, of each stream

    def printed(self, stream: str, data: bytes) -> None:
        text = self._begun.get(stream, b"") + data
        end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        self._begun[stream] = text[end:]
        self._show(text[:end])

    def close(self) -> None:
        for rest in self._begun.values():
            self._show(rest)
        self._begun.clear()

    def _show(self, data: bytes) -> None:
        with suppress(OSError):  # nobody reads it any more, and the run goes on
            pass_on(self._mask(data.decode("utf-8", "replace")))


class LiveLine(NoLine):
    def __init__(self, known: Known) -> None:
        from rich.console import Console
        from rich.live import Live

        super().__init__(known)
        self._started = time.monotonic()
        self._twins: list[Twin] | None = None  # not yet; none: the runs are made elsewhere
        self._since: tuple[float, int] | None = None  # when the first steps were seen, and how many
        self._compared = 0
        self._doing, self._deadline = "", 0.0
        self._live = Live(
            get_renderable=self._drawn,
            console=Console(stderr=True),
            refresh_per_second=5,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def twins(self, twins: list[Twin]) -> None:
        self._twins, self._since, self._compared = twins, None, 0

    def tick(self, judge: Judge) -> None:
        self._compared = judge.steps

    def say(self, text: str, deadline: float | None = None) -> None:
        self._doing, self._deadline = text, deadline or 0.0
        with suppress(OSError):
            self._live.refresh()  # however soon it is over

    def known(self, result: CheckResult) -> None:
        self.close()  # nothing is drawn over the verdict
        super().known(result)
        with suppress(OSError):
            self._live.start()

    def close(self) -> None:
        with suppress(OSError):  # of a terminal that has hung up
            self._live.stop()

    def __del__(self) -> None:
        self.close()

    def _drawn(self) -> Text:
        from rich.text import Text

        return Text(inline(self.line(time.monotonic())), no_wrap=True, overflow="ellipsis")

    def line(self, now: float) -> str:
        """What matters most comes first: the end is cut off where the terminal is narrow."""
        clock = _clock(now - self._started)
        if self._deadline:
            clock += f", {_clock(max(0.0, self._deadline - now))} left"
        # Twins do the same thing at the same time.
        busy = next((twin.doing for twin in self._twins or () if twin.doing), "")
        return "  ".join(part for part in (clock, self._doing, busy, self._steps(now)) if part)

    def _steps(self, now: float) -> str:
        if self._twins == []:
            return ""
        twins = self._twins or []
        if not any(twin.step for twin in twins):
            return "before the first step"
        parts = [", ".join(f"{twin.name} step {twin.step}{_silent(twin, now)}" for twin in twins)]
        if self._compared and len(twins) > 1:
            parts.append(f"{self._compared} compared")
        slowest = min(twin.step for twin in twins)
        start, first = self._since = self._since or (now, slowest)
        if slowest > first and now > start:
            parts.append(f"{(slowest - first) / (now - start):.1f}/s")
        return " · ".join(parts)


def _silent(twin: Twin, now: float) -> str:
    silence = now - twin.last_message
    return f" (silent for {silence:.0f} s)" if silence > 10 else ""


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
