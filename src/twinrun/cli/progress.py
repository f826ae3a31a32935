"""The live line: both twins' step, steps per second, and what has been compared. On stderr, and only on a terminal."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from twinrun.launch.options import Screen
from twinrun.terminal import inline

if TYPE_CHECKING:
    from twinrun.comparison.judge import Judge
    from twinrun.launch.twin_process import Twin


def screen(quiet: bool) -> Screen:
    return LiveLine() if not quiet and sys.stderr.isatty() else Screen()


class LiveLine(Screen):
    def __init__(self) -> None:
        from rich.console import Console
        from rich.status import Status

        self._status = Status("starting", console=Console(stderr=True), spinner="dots")
        self._status.start()
        self._twins: list[Twin] = []
        self._since: dict[str, tuple[float, int]] = {}
        self._drawn = 0.0
        self._doing = ""

    def twins(self, twins: list[Twin]) -> None:
        self._twins = twins
        self._since = {}

    def say(self, text: str) -> None:
        """What is being tried, during a diagnosis."""
        self._doing = text
        self._update(text)

    def tick(self, judge: Judge) -> None:
        now = time.monotonic()
        if now - self._drawn < 0.2:
            return
        self._drawn = now
        parts = [self._twin(twin, now) for twin in self._twins]
        compared = f"{judge.steps} steps compared" if judge.frames else "no step yet"
        text = " · ".join([*parts, compared])
        self._update(f"{self._doing}  {text}" if self._doing else text)

    def _twin(self, twin: Twin, now: float) -> str:
        if twin.step == 0:
            return f"{twin.name} starting"
        start, first = self._since.setdefault(twin.name, (now, twin.step))
        rate = (twin.step - first) / (now - start) if now > start else 0.0
        waiting = f", silent for {now - twin.last_message:.0f} s" if now - twin.last_message > 10 else ""
        return f"{twin.name} step {twin.step} ({rate:.1f}/s{waiting})"

    def _update(self, text: str) -> None:
        from rich.markup import escape

        with suppress(OSError):  # of a terminal that has hung up
            self._status.update(escape(inline(text)))

    def close(self) -> None:
        with suppress(OSError):
            self._status.stop()

    def __del__(self) -> None:
        self.close()
