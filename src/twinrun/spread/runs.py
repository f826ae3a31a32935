"""Makes the runs of a spread, side by side where there are processors for it, each in a process and a view of the folder
of its own. A run is never made twice."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from twinrun.environment.machine import read_gpu
from twinrun.errors import TwinrunError
from twinrun.interrupt import Interrupted, raise_pending
from twinrun.launch.run import RunOptions, RunResult, run_once
from twinrun.protocol.event import Event, relative
from twinrun.protocol.evidence import in_library, is_direct
from twinrun.protocol.registry import frameworks
from twinrun.recording.frame import MEASURED, Frame
from twinrun.recording.reader import Reader
from twinrun.spread.plan import (
    ALL,
    DATA,
    IMPLEMENTATION,
    LOOKS,
    REPEAT,
    RunKey,
    SpreadOptions,
    first_looks,
    the_rest,
)
from twinrun.spread.report import Failed, Run

Say = Callable[[str], None]
_EPOCH = "epoch/"
_MOST_PLACES = 5
_GLOBAL = {"numpy-random": "NumPy's", "python-random": "Python's"}


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


def collect(options: SpreadOptions, known: Iterable[Run], say: Say) -> Collected:
    """`known` are runs that were made before and are not made again. Interrupted, it leaves what there is by then."""
    found = Collected({RunKey(run.source, run.number): run for run in known})
    work = _Work(options, found, say)
    try:
        looks, rest = first_looks(options), the_rest(options, ())
        work.first([RunKey(options.groups[0], 0), *looks, *rest])
        later = {options.same_as(key) for key in rest} - {*looks, *found.runs}
        work.make(looks, len(later))
        unused = _unused(options, found)
        if unused:
            found.notes.append(_not_used(unused))
        found.notes += _not_repeated(found)
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
        result, run = _run(options, key)
        if isinstance(run, Failed):
            raise CannotMeasure(f"the first run failed: {run.why}", hint=_last_line(result))
        if not run.metrics:
            raise CannotMeasure(
                f"{options.program} reported no loss, metric or probe, so there is nothing to measure",
                hint="give the number to twinrun.probe('accuracy', value)",
            )
        self._keep(key, run)
        found.environment = result.facts.environment
        found.notes += _remarks(options, result)
        cores = (_used() - before) / max(time.monotonic() - started, 1e-3)
        found.jobs = options.jobs or _jobs(cores, options.request.device)
        if result.view == "shared":
            found.jobs = 1
            found.notes.append(
                "the runs shared one folder, one after the other: each saw the files of those before"
            )

    def make(self, keys: Iterable[RunKey], later: int = 0) -> None:
        """Those that are still missing. `later`: about how many are to follow."""
        todo = [key for key in dict.fromkeys(keys) if not self._is_known(key)]
        pool = ThreadPoolExecutor(self.found.jobs, thread_name_prefix="twinrun-spread")
        waiting: dict[Future[tuple[RunResult, Run | Failed]], RunKey] = {}
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

    def _take(self, waiting: dict[Future[tuple[RunResult, Run | Failed]], RunKey], left: int) -> None:
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

    def _progress(self, key: RunKey, left: int) -> str:
        what = _named(key)
        failed = " failed" if key in self.found.failed else ""
        if not left or not self._seconds:
            return f"{what}{failed}"
        seconds = sum(self._seconds) / len(self._seconds) * math.ceil(left / self.found.jobs)
        return f"{what}{failed}; {left} to go, about {_duration(seconds)}"


def _named(key: RunKey) -> str:
    return "the first run again" if key.source == REPEAT else f"{key.source}, run {key.number + 1}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _run(options: SpreadOptions, key: RunKey) -> tuple[RunResult, Run | Failed]:
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
            return result, Failed(key.source, key.number, seed, refused or result.reason or "unknown")
        with contextlib.closing(Reader(result.recording)) as reader:
            metrics = metrics_of(reader.frames())
    return result, Run(key.source, key.number, seed, metrics, result.steps, result.seconds)


def metrics_of(frames: Iterable[Frame]) -> dict[str, float]:
    """The last value of each loss, metric and probe: that of an epoch rather than that of its last batch, as a contract
    looks them up."""
    found: dict[str, float] = {}
    for frame in frames:
        for entry, value in frame.values:
            if frame.layout.phases[entry] in MEASURED:
                found[frame.layout.names[entry]] = value
    epochs = {name: value for name, value in found.items() if name.startswith(_EPOCH)}
    of_batches = {name: value for name, value in found.items() if name not in epochs}
    return of_batches | {name.removeprefix(_EPOCH): value for name, value in epochs.items()}


def _last_line(result: RunResult) -> str | None:
    lines = (result.output_tail or "").strip().splitlines()
    return f"last line of output: {lines[-1].strip()}" if lines else None


# What is worth knowing beside the numbers


def _remarks(options: SpreadOptions, result: RunResult) -> Iterator[str]:
    facts = result.facts
    yield from facts.notes
    own = {state.place for state in facts.controls.values() if state.set_by == "twinrun" and state.place}
    if own:
        places = ", ".join(sorted(relative(place) for place in own))
        yield f"seeds that the program sets itself were replaced by those of each run: {places}"
    if result.children:
        yield f"the program started {result.children} processes that trained; only its own numbers are measured"
    if DATA in options.sources:
        yield from _undivided(facts.events)


def _undivided(events: Iterable[Event]) -> Iterator[str]:
    """A global stream may serve anything, and nothing shows what for."""
    lines: dict[str, set[tuple[str, int]]] = {}
    for event in events:
        if event.source in _GLOBAL and event.action == "draw" and _is_the_programs(event):
            lines.setdefault(event.source, set()).add((relative(event.file), event.line))
    for source, found in lines.items():
        places = [f"{file}:{line}" for file, line in sorted(found)]
        shown = ", ".join(places[:_MOST_PLACES]) + (", …" if len(places) > _MOST_PLACES else "")
        yield (
            f"data covers everything drawn from {_GLOBAL[source]} global stream ({shown}): whether it orders data or "
            "serves something else cannot be told apart"
        )


def _is_the_programs(event: Event) -> bool:
    """Not a framework's own draw, which has a stream of its own, nor one while a library is being imported."""
    by_framework = any(event.via == framework.module for framework in frameworks())
    return is_direct(event) or (in_library(event) and bool(event.entry) and not by_framework)


def _same(one: Run, other: Run) -> bool:
    return repr(sorted(one.metrics.items())) == repr(sorted(other.metrics.items()))  # nan is nan here


def _unused(options: SpreadOptions, found: Collected) -> dict[str, int]:
    """The sources that moved nothing at all in their first runs, and how many these were. What races may yet move
    something in the next run."""
    unused = {}
    for source in options.sources:
        runs = [run for run in found.runs.values() if run.source == source]
        if len(runs) >= LOOKS and source != IMPLEMENTATION and all(_same(runs[0], run) for run in runs):
            unused[source] = len(runs)
    return unused


def _not_used(unused: dict[str, int]) -> str:
    shown = ", ".join(f"{source} ({runs} runs)" for source, runs in unused.items())
    return f"no number changed at all, so no further runs were made: {shown}"


def _not_repeated(found: Collected) -> Iterator[str]:
    first, again = found.runs.get(RunKey(ALL, 0)), found.runs.get(RunKey(REPEAT, 0))
    if first is None or again is None or _same(first, again):
        return
    name = next(
        (name for name in first.metrics if first.metrics[name] != again.metrics.get(name)), "a metric"
    )
    yield (
        f"the program does not repeat though it is pinned ({name} was {first.metrics.get(name)} and "
        f"{again.metrics.get(name)} with the same seed): part of every figure here is not the seed's; "
        "`twinrun check --pin` names the cause"
    )
