"""Threads and processes that the program starts. Threads race for what they share: for an experiment they take turns,
or are left out.

Taking turns: the first runs alone for a while, then as long as it takes; the next starts when it is done. So at most
one of them ever runs, and they work in the order in which they were started."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from twinrun.protocol import Event, Evidence, Freeze, Point, SecondLook, Source, Stress, one, replacement
from twinrun.protocol.suspect import Suspect, Weight
from twinrun.protocol.variation import Variation, inside
from twinrun.twin.callers import caller, note_start, unseen
from twinrun.twin.session import Session

NAME = "threads"
NUMBERED = "number the pieces of work, and sort the results by that number"
KEPT = "let a worker keep nothing from one piece of work to the next, such as a generator that it draws from; make it anew for each"
# Seconds in which nothing else runs beside a thread; one that waits for another takes longer than that.
_ALONE = 2.0
# A worker of a pool never ends. Seconds after which it is taken to wait for work, if it has computed nothing meanwhile.
_AT_REST = 0.05
_POOLS = ("concurrent.futures.thread", "multiprocessing.pool")
_PROCESS_POOLS = ("concurrent.futures.process", "multiprocessing.pool")
_WORKERS = ("processes", "max_workers")  # what pools call their number
# Through which the user's own line starts a thread.
_LIBRARIES = ("", "concurrent", "threading", "multiprocessing")
# The internal threads of a pool of processes never end, and race for nothing of the program's.
_INTERNAL = ("Pool._handle", "Queue._feed", "ResourceSharer", "_ExecutorManagerThread")
_BUSY = "import os, sys\nparent = int(sys.argv[1])\nwhile os.getppid() == parent: sum(range(10000))"
_start, _join = threading.Thread.start, threading.Thread.join
_monotonic = time.monotonic


class _Turns:
    """Threads that wait for their turn, and those that never get one."""

    def __init__(self) -> None:
        self._waiting: deque[threading.Thread] = deque()
        self._omitted: list[threading.Thread] = []
        self._lock = threading.RLock()
        self._running: threading.Thread | None = None

    def start(self, thread: threading.Thread) -> None:
        with self._lock:
            if self._running is not None:
                self._waiting.append(thread)
                return
            self._run(thread)
        if _module(thread) in _POOLS:
            _wait_for_rest(thread)
        else:
            _join(thread, _ALONE)

    def omit(self, thread: threading.Thread) -> None:
        self._omitted.append(thread)

    def _run(self, thread: threading.Thread) -> None:
        self._running = thread
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
            self._running = None
            if self._waiting:
                self._run(self._waiting.popleft())

    def is_postponed(self, thread: threading.Thread) -> bool:
        """Not started, and so not to be waited for: it runs when its turn comes, or never."""
        with self._lock:
            if thread in self._omitted:
                return True
            waiting = thread in self._waiting
        while waiting and self._running is not None:
            _join(self._running, 0.05)
            with self._lock:
                waiting = thread in self._waiting
        return waiting


def _wait_for_rest(thread: threading.Thread) -> None:
    """Until it has ended, has nothing to do, or has been alone for long enough."""
    began, computed = _monotonic(), ""
    while thread.is_alive() and _monotonic() - began < _ALONE:
        before, computed = computed, _computed(thread)
        if before and before == computed:
            return
        _join(thread, _AT_REST)


def _computed(thread: threading.Thread) -> str:
    """How much processor time it has had: another word whenever it had more."""
    with unseen(), contextlib.suppress(OSError):  # it has ended, or this is no Linux
        return Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().partition(" ")[0]
    return ""


_turns = _Turns()


@replacement
def _start_thread(session: Session, original: Any, self: threading.Thread) -> None:
    who = caller()
    note_start(self, who)
    if who is None or who.via not in _LIBRARIES or _work(self).startswith(_INTERNAL):
        original(self)
        return
    session.log.record(NAME, "start", who, _work(self))
    if session.log.frozen(NAME, "omit", who) is not None:
        _turns.omit(self)
    elif session.log.frozen(NAME, "start", who) is not None:
        _turns.start(self)
    else:
        original(self)


@replacement
def _join_thread(
    session: Session, original: Any, self: threading.Thread, timeout: float | None = None
) -> None:
    if not _turns.is_postponed(self):
        original(self, timeout)


@replacement
def _start_process(session: Session, original: Any, self: Any) -> None:
    """Recorded, and never frozen: a process that waits for its reader cannot take turns. Those of a pool are known by it."""
    who = caller()
    if who is not None and who.via in _LIBRARIES and _module(self) not in _PROCESS_POOLS:
        session.log.record(NAME, "process", who, _work(self))
    original(self)


@replacement
def _make_pool(
    session: Session, original: Any, self: Any, workers: Any = None, *args: Any, **kwargs: Any
) -> None:
    """A pool of processes; with one worker, where an experiment freezes it."""
    name = type(self).__name__
    named = next((given for given in _WORKERS if given in kwargs), None)
    workers = kwargs.pop(named) if named is not None else workers
    who = caller()
    if name != "ThreadPool" and workers != 1 and who is not None and who.via in _LIBRARIES:
        session.log.record(NAME, "pool", who, name)
        if session.log.frozen(NAME, "pool", who) is not None:
            workers = 1
    original(self, workers, *args, **kwargs)


def _module(thread: Any) -> str:
    """Where the function that it runs was defined."""
    return str(getattr(getattr(thread, "_target", None), "__module__", ""))


def _work(thread: Any) -> str:
    """The name of the function that it runs."""
    target: Any = getattr(thread, "_target", None)
    return str(getattr(target, "__qualname__", type(thread).__name__))


def _keep_a_core_busy() -> None:
    """Start a busy child in the twin's own process group: it ends when the twin does, or is ended with it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TWINRUN_")}
    command = [sys.executable, "-S", "-c", _BUSY, str(os.getpid())]
    with unseen():
        subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)


class Threads(Source):
    name = NAME
    codes = ("TW205", "TW403")
    actions = ("start", "omit", "pool")
    weight = Weight(init=1, batch=8, later=8)
    points = (
        Point("threading:Thread.start", _start_thread, "threads that the program starts"),
        Point("threading:Thread.join", _join_thread, "waiting for a thread that an experiment postpones"),
        Point("multiprocessing.process:BaseProcess.start", _start_process, "processes that the program starts"),
        Point("multiprocessing.pool:Pool.__init__", _make_pool, "pools of processes"),
        Point("concurrent.futures.process:ProcessPoolExecutor.__init__", _make_pool, "pools of processes"),
    )  # fmt: skip
    variations = (
        Variation(
            "load",
            "another process keeping a core busy",
            inside("none", "busy"),
            "TW403",
            "the result depends on what else the machine is doing: something races",
        ),
    )

    def start(self, session: Session) -> None:
        if session.varied.get("load") == "busy":
            _keep_a_core_busy()

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        yield from self._threads(evidence)
        yield from self._processes(evidence)

    def _threads(self, evidence: Evidence) -> Iterator[Suspect]:
        """Two experiments: the threads take turns, or, where one never ends, they are left out."""
        threads = [one(pair) for pair in evidence.of(self.name, "start")]
        if not threads:
            return
        code, message, advice = "TW403", "threads of the program race with one another", ""
        if threads[0].via == "concurrent" and evidence.first.phase == "batch":
            code, message = "TW205", "workers of a pool race for what they share"
            advice = "give each piece of work a generator of its own, made from (seed, its number), and its own copy of what it changes"
        notes = _started("threads", threads)
        turns = self.suspect(threads, message, code=code, notes=notes, advice=advice)
        yield replace(turns, experiment="with these threads taking turns")
        yield replace(
            turns,
            freeze=tuple(Freeze.at(event, "omit") for event in threads),
            weight=Weight(init=1, batch=4, later=4),
            experiment="with these threads left out",
            last_resort=True,
        )

    def _processes(self, evidence: Evidence) -> Iterator[Suspect]:
        """A pool can do with one worker. Processes that pass their work on through a queue cannot take turns."""
        for pair in evidence.of(self.name, "pool"):
            pool = one(pair)
            yield self.suspect(
                [pool],
                f"what training gets depends on which worker process of {pool.call} does which work",
                weight=Weight(init=1, batch=5, later=4),
                experiment="with one worker process",
                advice=KEPT,
            )
        processes = [one(pair) for pair in evidence.of(self.name, "process")]
        if processes:
            yield self.suspect(
                processes,
                "the completion order of worker processes reaches training",
                freeze=(),
                weight=Weight(init=1, batch=5, later=4),
                notes=_started("processes", processes),
                advice=NUMBERED,
            )

    def second_look(self, events: Iterable[Event]) -> SecondLook | None:
        return look_for_races(self.events_of(events, "start"))


def look_for_races(events: Iterable[Event]) -> SecondLook | None:
    """The second look of sources whose events mean that several threads run."""
    for event in events:
        where = f"{Path(event.file).name}:{event.line}"
        return SecondLook(f"{event.call} runs in several threads ({where})", Stress())
    return None


def _started(what: str, events: list[Event]) -> tuple[str, ...]:
    return tuple(f"{event.count} {what} run {event.call}, started at {event.place}" for event in events[:3])
