"""What determinism costs a program: plain and pinned runs, one after the other in turn, compared by their
steady-state step time. Every round has two plain runs, so that plain against plain shows what this machine
can tell apart."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from twinrun.controls.catalogue import NAMES, wanted_controls
from twinrun.controls.request import PinRequest
from twinrun.errors import TwinrunError
from twinrun.launch.program import Program

SCHEMA = "twinrun/cost/1"
PLAIN, AGAIN, TOGETHER = "plain", "plain again", "together"
# Op determinism refuses to draw without a seed: it is measured with the seeds, which are measured on their
# own too.
_SEEDS = (
    "python-random",
    "numpy-random",
    "tensorflow-seed",
    "tensorflow-generator",
    "keras-seed",
    "tf-keras-seed",
)
_WITH = {"op-determinism": _SEEDS}
_FEWEST = 5  # steps left to measure, after the warm-up


class CannotMeasure(TwinrunError):
    """A run made too few steps, or failed."""


@dataclass(frozen=True)
class Cost:
    """The step time of a variant as a share of the plain one's, one number for each round."""

    name: str
    seconds: float  # the median step
    ratios: tuple[float, ...]

    @property
    def share(self) -> float:
        return statistics.median(self.ratios) - 1

    @property
    def spread(self) -> float:
        """Half of the range over the rounds."""
        return (max(self.ratios) - min(self.ratios)) / 2


@dataclass(frozen=True)
class CostReport:
    program: str
    plain_seconds: float
    steps: int  # that were measured in each run
    warm_up: int  # that were left out before them
    rounds: int
    noise: float  # how far plain is from plain
    costs: tuple[Cost, ...]
    failed: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()

    def measurable(self, cost: Cost) -> bool:
        return abs(cost.share) > max(cost.spread, self.noise)

    def sentence(self, cost: Cost) -> str:
        what = "all controls together" if cost.name == TOGETHER else cost.name
        verb = "cost" if cost.name == TOGETHER else "costs"
        if not self.measurable(cost):
            within = max(cost.spread, self.noise)
            return f"{what}: no measurable cost (within {within:.1%})"
        spread = f"± {cost.spread:.1%}" if self.rounds > 1 else "(one round: no spread)"
        if cost.share < 0:
            gain = "make" if cost.name == TOGETHER else "makes"
            return f"{what} {gain} this program faster by {-cost.share:.1%} {spread}"
        return f"{what} {verb} this program {cost.share:.1%} {spread}"

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "program": self.program,
            "plain": {"seconds": self.plain_seconds, "noise": self.noise},
            "steps": self.steps,
            "warm_up": self.warm_up,
            "rounds": self.rounds,
            "controls": [
                {
                    "name": cost.name,
                    "seconds": cost.seconds,
                    "share": cost.share,
                    "spread": cost.spread,
                    "rounds": list(cost.ratios),
                    "measurable": self.measurable(cost),
                    "sentence": self.sentence(cost),
                }
                for cost in self.costs
            ],
            "failed": [{"name": name, "why": why} for name, why in self.failed],
            "unused": list(self.unused),
        }


@dataclass(frozen=True)
class CostOptions:
    program: Program
    request: PinRequest = field(default_factory=PinRequest)
    controls: tuple[str, ...] | None = None  # None: every control that the program uses
    steps: int = 60
    rounds: int = 3
    timeout: float | None = None


def measure(options: CostOptions, say: Callable[[str], None] = lambda _: None) -> CostReport:
    """Runs the program rounds × (controls + 3) times."""
    times: dict[str, list[list[float]]] = {}
    failed: dict[str, str] = {}
    names = options.controls
    unused: tuple[str, ...] = ()

    def run(turn: int, name: str) -> set[str]:
        say(f"round {turn + 1} of {options.rounds}: {name}")
        seconds, used = _run(options, name)
        times.setdefault(name, []).append(seconds)
        return used

    for turn in range(options.rounds):
        used = run(turn, PLAIN)
        if names is None:  # the first run tells which controls matter here
            asked = {control.name for control in wanted_controls(options.request)}
            names = tuple(name for name in NAMES if name in used & asked)
            unused = tuple(name for name in NAMES if name not in names)
        for name in _in_turn([*names, TOGETHER], turn):
            if name in failed:
                continue
            try:
                run(turn, name)
            except CannotMeasure as problem:
                failed[name] = problem.message
        run(turn, AGAIN)
    return summarise(options, times, failed, unused)


def summarise(
    options: CostOptions, times: dict[str, list[list[float]]], failed: dict[str, str], unused: tuple[str, ...]
) -> CostReport:
    """From step times, by variant and round, to costs."""
    plain = [statistics.median(seconds) for seconds in times[PLAIN]]
    again = [statistics.median(seconds) for seconds in times[AGAIN]]
    # Each round is compared with its own two plain runs: a machine that slows down slows all of the round.
    level = [(one + other) / 2 for one, other in zip(plain, again, strict=True)]
    noise = max(abs(one - other) / (one + other) for one, other in zip(plain, again, strict=True))
    costs = []
    for name, rounds in times.items():
        if name in (PLAIN, AGAIN) or name in failed:
            continue
        medians = [statistics.median(seconds) for seconds in rounds]
        ratios = tuple(median / base for median, base in zip(medians, level, strict=True))
        costs.append(Cost(name, statistics.median(medians), ratios))
    order = {name: place for place, name in enumerate((*NAMES, TOGETHER))}
    return CostReport(
        program=str(options.program),
        plain_seconds=statistics.median(level),
        steps=min(len(seconds) for rounds in times.values() for seconds in rounds),
        warm_up=warm_up(options.steps),
        rounds=options.rounds,
        noise=noise,
        costs=tuple(sorted(costs, key=lambda cost: order[cost.name])),
        failed=tuple(failed.items()),
        unused=unused,
    )


def warm_up(steps: int) -> int:
    """Steps to leave out: tracing, compiling and filling of buffers happen in the first ones."""
    return max(3, steps // 4)


def _in_turn(names: list[str], turn: int) -> list[str]:
    """Another order in each round, so that no variant always runs first."""
    at = turn % len(names)
    return names[at:] + names[:at]


def _run(options: CostOptions, name: str) -> tuple[list[float], set[str]]:
    from twinrun.launch.run import RunOptions, run_once

    with tempfile.TemporaryDirectory(prefix="twinrun-cost-") as folder:
        result = run_once(
            RunOptions(
                options.program,
                steps=options.steps,
                pin=_request(options.request, name),
                timeout=options.timeout,
                folder=str(Path(folder) / "run"),
            )
        )
        if result.exit_code:
            why = result.findings[0].message if result.findings else result.reason
            raise CannotMeasure(f"the run with {name} failed: {why}")
        seconds = list(_steady(result.recording, options.steps))
    if len(seconds) < _FEWEST:
        raise CannotMeasure(
            f"{options.program} made too few steps to measure: {len(seconds)} are left after the warm-up",
            hint="let it train longer, or give a smaller --steps",
        )
    return seconds, {name for name, entry in result.facts.get("controls", {}).items() if _acts(entry)}


def _acts(entry: dict[str, Any]) -> bool:
    """A control of what is not imported does nothing, nor does one of the GPU where there is none."""
    return bool(entry.get("used")) and "no GPU here" not in str(entry.get("state"))


def _steady(recording: Path, steps: int) -> Iterator[float]:
    from twinrun.recording.store import Reader

    reader = Reader(recording)
    try:
        for frame in reader.frames():
            if frame.span and frame.step > warm_up(steps):
                yield frame.seconds / frame.span
    finally:
        reader.close()


def _request(base: PinRequest, name: str) -> PinRequest | None:
    if name in (PLAIN, AGAIN):
        return None
    if name == TOGETHER:
        return base
    return replace(base, only=(*_WITH.get(name, ()), name))
