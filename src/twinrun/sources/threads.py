"""Threads that the program starts: noted, and for an experiment made to take turns, or left out altogether.

Taking turns: the first runs alone for a while, then as long as it takes; the next starts when it is done. So at most
one of them is ever under way, and the order in which they work is the order in which they were started."""

from __future__ import annotations

import threading
from collections import deque
from types import ModuleType
from typing import Any

from twinrun.twin.event_log import Book, caller
from twinrun.twin.imports import when_imported

_ALONE = (
    2.0  # seconds in which nothing else runs beside it; one that waits for somebody takes longer than that
)
_ROADS = ("", "concurrent", "threading", "multiprocessing")

_HOUSEKEEPING = ("Pool._handle", "Queue._feed", "ResourceSharer", "_ExecutorManagerThread")

_start = threading.Thread.start
_join = threading.Thread.join


def install(book: Book) -> None:
    turns = _Turns()

    def start(self: threading.Thread) -> None:
        who = caller()
        # A pool of processes keeps its books in threads that never end: they race for nothing of the program's.
        if who is None or who.via not in _ROADS or _work(self).startswith(_HOUSEKEEPING):
            _start(self)
            return
        book.note("thread", who, _work(self), seeded=who.via)
        if book.steady("thread-left-out", who) is not None:
            turns.leave_out(self)
        elif book.steady("thread", who) is not None:
            turns.start(self)
        else:
            _start(self)

    def join(self: threading.Thread, timeout: float | None = None) -> None:
        if not turns.postponed(self):
            _join(self, timeout)

    threading.Thread.start = start  # type: ignore[method-assign]
    threading.Thread.join = join  # type: ignore[method-assign]
    when_imported("multiprocessing.process", lambda module: _processes(book, module))


def _processes(book: Book, module: ModuleType) -> None:
    """Processes that the program starts: seen, and not held still. One that waits for its reader cannot take turns."""
    process: Any = module.BaseProcess
    begin = process.start

    def start(self: Any) -> None:
        who = caller()
        if who is not None and who.via in _ROADS:
            book.note("process", who, _work(self))
        begin(self)

    process.start = start


class _Turns:
    def __init__(self) -> None:
        self._waiting: deque[threading.Thread] = deque()
        self._left_out: list[threading.Thread] = []
        self._lock = threading.RLock()
        self._busy: threading.Thread | None = None

    def start(self, thread: threading.Thread) -> None:
        with self._lock:
            if self._busy is not None:
                self._waiting.append(thread)
                return
            self._go(thread)
        _join(thread, _ALONE)

    def _go(self, thread: threading.Thread) -> None:
        self._busy = thread
        run = thread.run

        def then_the_next() -> None:
            try:
                run()
            finally:
                self._next()

        thread.run = then_the_next  # type: ignore[method-assign]
        _start(thread)

    def _next(self) -> None:
        with self._lock:
            self._busy = None
            if self._waiting:
                self._go(self._waiting.popleft())

    def leave_out(self, thread: threading.Thread) -> None:
        self._left_out.append(thread)

    def postponed(self, thread: threading.Thread) -> bool:
        """Not started, and so not to be waited for: it has its turn when its turn comes, or never."""
        with self._lock:
            if thread in self._left_out:
                return True
            waiting = thread in self._waiting
        while waiting and self._busy is not None:
            _join(self._busy, 0.05)
            with self._lock:
                waiting = thread in self._waiting
        return waiting


def _work(thread: Any) -> str:
    target: Any = getattr(thread, "_target", None)
    return str(getattr(target, "__qualname__", type(thread).__name__))
