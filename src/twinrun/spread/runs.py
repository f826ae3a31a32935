"""Makes the runs of a spread, side by side where there are processors for it, each in a process and a view of the folder
of its own. A run is never made twice."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from twinrun.environment.machine import read_gpu
from twinrun.errors import TwinrunError
from twinrun.interrupt import Interrupted, raise_pending
from twinrun.launch.run import RunOptions, RunResult, run_once
from twinrun.spread.numbers import Numbers, numbers_of
from twinrun.spread.plan import (
    ALL,
    IMPLEMENTATION,
    LOOKS,
    REPEAT,
    RunKey,
    SpreadOptions,
    first_looks,
    the_rest,
)
from twinrun.spread.remarks import not_repeated, not_used, on_first_run
from twinrun.spread.report import Failed, Run
from twinrun.terminal import duration

Say = Callable[[str], None]
Made = tuple[RunResult, Run | Failed, Numbers]


class CannotMeasure(TwinrunError):
    """The first run failed, or gave no number."""


@dataclass
class Collected:
    """What the runs gave, as far as they got."""

    runs: dict[RunKey, Run] = field(default_factory=dict)
    failed: dict[RunKey, Failed] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)
    jobs: int = 1
    interrupted: Interrupted | None = None


def collect(
    options: SpreadOptions, known: Iterable[Run], say: Say, made: Callable[[Collected], None] = lambda _: None
) -> Collected:
    """`known` are runs that were made before and are not made again. Interrupted, it leaves what there is by then. `made`
    is called after each run with all that there is."""
    found = Collected({RunKey(run.source, run.number): run for run in known})
    work = _Work(options, found, say, made)
    try:
        looks, rest = first_looks(options), the_rest(options, ())
        work.first([RunKey(options.groups[0], 0), *looks, *rest])
        later = {options.same_as(key) for key in rest} - {*looks, *found.runs}
        work.make(looks, len(later))
        unused = _unused(options, found)
        if unused:
            found.notes.append(not_used(unused))
        found.notes += not_repeated(found.runs.get(RunKey(ALL, 0)), found.runs.get(RunKey(REPEAT, 0)))
        work.make(the_rest(options, unused))
    except KeyboardInterrupt as stop:
        found.interrupted = Interrupted.of(stop)
    return found


def _used() -> float:
    """Seconds of processors, by all processes that have ended below this one."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _jobs(cores: float, device: str | None) -> int:
    """How many runs go side by side, by what the first one took of processors and memory. A GPU is not shared: the
    first program takes all of its memory."""
    if device != "cpu" and read_gpu().get("count"):
        return 1
    processors = len(os.sched_getaffinity(0))
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    room = int(psutil.virtual_memory().available // max(largest, 1))
    return max(1, min(round(processors / max(cores, 0.5)), processors, room))


@dataclass
class _Work:
    """Runs to make, and how long they take."""

    options: SpreadOptions
    found: Collected
    say: Say
    made: Callable[[Collected], None]
    _seconds: list[float] = field(default_factory=list)

    def first(self, keys: Iterable[RunKey]) -> None:
        """The first that is missing, alone: it shows whether the program can be measured at all, and how many of it the
        machine can take at a time."""
        key = next((key for key in keys if not self._is_known(key)), None)
        if key is None:
            return
        options, found = self.options, self.found
        self.say(f"{options.program}: {_named(key)}, alone at first")
        before, started = _used(), time.monotonic()
        result, run, numbers = _run(options, key)
        if isinstance(run, Failed):
            raise CannotMeasure(f"the first run failed: {run.why}", hint=_last_line(result))
        if not run.metrics:
            processes = len(numbers.children)
            several = (
                f"; {processes} processes that it starts did, and none stands for all" if processes else ""
            )
            raise CannotMeasure(
                f"{options.program} itself reported no loss, metric or probe{several}",
                hint="give the number to be measured to twinrun.probe('accuracy', value)",
            )
        found.environment = result.facts.environment
        found.notes += on_first_run(options, result, numbers)
        cores = (_used() - before) / max(time.monotonic() - started, 1e-3)
        found.jobs = options.jobs or _jobs(cores, options.request.device)
        if result.view == "shared":
            found.jobs = 1
            found.notes.append(
                "the runs shared one folder, one after the other: each saw the files of those before"
            )
        self._keep(key, run)

    def make(self, keys: Iterable[RunKey], later: int = 0) -> None:
        """Make the runs that are still missing. `later`: about how many are to follow."""
        todo = [key for key in dict.fromkeys(keys) if not self._is_known(key)]
        pool = ThreadPoolExecutor(self.found.jobs, thread_name_prefix="twinrun-spread")
        waiting: dict[Future[Made], RunKey] = {}
        try:
            for done in range(len(todo)):
                while len(waiting) < self.found.jobs and len(waiting) + done < len(todo):
                    key = todo[done + len(waiting)]
                    waiting[pool.submit(_run, self.options, key)] = key
                self._take(waiting, len(todo) - done + later)
        except KeyboardInterrupt:
            # The runs under way see that they are to end, and do.
            for future, key in waiting.items():
                with contextlib.suppress(BaseException):
                    self._keep(key, future.result()[1])
            raise
        finally:
            pool.shutdown()

    def _is_known(self, key: RunKey) -> bool:
        same = self.options.same_as(key)
        if same != key and same in self.found.runs:
            first = self.found.runs[same]
            self.found.runs[key] = Run(
                key.source, key.number, first.seed, first.metrics, first.steps, first.seconds
            )
        return key in self.found.runs or key in self.found.failed

    def _take(self, waiting: dict[Future[Made], RunKey], left: int) -> None:
        """The next that ends."""
        while not (ended := wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED).done):
            raise_pending()
        future = next(iter(ended))
        key = waiting.pop(future)
        self._keep(key, future.result()[1])
        self.say(self._progress(key, left - 1))

    def _keep(self, key: RunKey, made: Run | Failed) -> None:
        if isinstance(made, Failed):
            self.found.failed[key] = made
        else:
            self.found.runs[key] = made
            self._seconds.append(made.seconds)
        self.made(self.found)

    def _progress(self, key: RunKey, left: int) -> str:
        what = _named(key)
        failed = " failed" if key in self.found.failed else ""
        if not left or not self._seconds:
            return f"{what}{failed}"
        seconds = sum(self._seconds) / len(self._seconds) * math.ceil(left / self.found.jobs)
        return f"{what}{failed}; {left} to go, about {duration(seconds)}"


def _named(key: RunKey) -> str:
    return "the first run again" if key.source == REPEAT else f"{key.source}, run {key.number + 1}"


def _run(options: SpreadOptions, key: RunKey) -> Made:
    """Its recording is read here, and kept no longer."""
    seed = options.seed(0 if key.source in (IMPLEMENTATION, REPEAT) else key.number)
    with tempfile.TemporaryDirectory(prefix="twinrun-spread-") as folder:
        once = RunOptions(
            options.program_of(key), options.steps, (options.pin_of(key),), options.timeout,
            folder=str(Path(folder, "run")), own_view=True,
        )  # fmt: skip
        result = run_once(once)
        if result.reason is not None or result.exit_code:
            refused = result.findings[0].message if result.findings else None
            return (
                result,
                Failed(key.source, key.number, seed, refused or result.reason or "unknown"),
                Numbers(),
            )
        numbers = numbers_of(result.recording)
    run = Run(key.source, key.number, seed, numbers.metrics, result.steps, result.seconds)
    return result, run, numbers


def _last_line(result: RunResult) -> str | None:
    lines = (result.output_tail or "").strip().splitlines()
    return f"last line of output: {lines[-1].strip()}" if lines else None


def _unused(options: SpreadOptions, found: Collected) -> dict[str, int]:
    """The sources that moved nothing at all in their first runs, and how many these were. What races may yet move
    something in the next run."""
    unused = {}
    for source in options.sources:
        runs = [run for run in found.runs.values() if run.source == source]
        if len(runs) >= LOOKS and source != IMPLEMENTATION and all(map(runs[0].same_numbers, runs)):
            unused[source] = len(runs)
    return unused
