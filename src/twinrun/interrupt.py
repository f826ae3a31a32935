"""Ctrl-C, a request to end, a terminal that hangs up: each breaks off what a command does, in good order, and leaves a
result that says so."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

from twinrun.comparison.verdict import Reason

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """`by` is the name of the signal. `results`: what was known by then, with the name of each program."""

    def __init__(self, by: str = "SIGINT", results: tuple[tuple[str, Any], ...] = ()) -> None:
        super().__init__(f"interrupted by {by}")
        self.by = by
        self.results = results

    @property
    def exit_code(self) -> int:
        """The exit code that a shell shows for a command that the signal ended."""
        return 128 + signal.Signals[self.by]

    def reason(self, steps: int) -> Reason:
        at = f"after step {steps}" if steps else "before the first step"
        return Reason("interrupted", f"{self} {at}")

    @staticmethod
    def of(stop: BaseException | None) -> Interrupted:
        """Outside the command line Ctrl-C is the usual KeyboardInterrupt."""
        return stop if isinstance(stop, Interrupted) else Interrupted()

    def leaving(self, *results: tuple[str, Any]) -> Interrupted:
        return Interrupted(self.by, results)


_pending: list[Interrupted] = []  # the one that was raised here


def listen() -> None:
    """Listen for signals, for a command of its own. Ignored signals stay ignored: nohup, a shell that starts it in the background."""
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(number: int, _: FrameType | None) -> None:
    """Once: what comes after may not keep the command from ending in good order. Only Ctrl-C insists."""
    first = not _pending
    if first:
        _pending.append(Interrupted(signal.Signals(number).name))
    if first or number == signal.SIGINT:
        raise _pending[0]


@contextmanager
def held_back() -> Iterator[None]:
    """What is done here is done wholly; an interruption comes after it.

    A signal that is blocked in this thread is taken by another one and raises here all the same, so the handlers change
    instead.
    """
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    if threading.current_thread() is not threading.main_thread():
        handlers = {}  # nothing is raised here
    try:
        with ExitStack() as after:
            for number, handler in handlers.items():
                if callable(handler):
                    after.callback(signal.signal, number, handler)
                    signal.signal(number, lambda number, _: came.append(number))
            yield
    finally:
        for each in came:
            signal.raise_signal(each)


def pending() -> Interrupted | None:
    """What has interrupted this command."""
    return _pending[0] if _pending else None


def raise_pending() -> None:
    """An exception is lost where Python calls something that may not fail, a finalizer say. It is raised again here."""
    if _pending:
        raise _pending[0]
