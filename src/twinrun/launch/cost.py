"""What determinism costs a program: every pinned run is made between two plain ones, and its steady-state step time is
compared with theirs. How far neighbouring plain runs are apart is the smallest cost that can be measured here."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from twinrun.errors import TwinrunError
from twinrun.launch.program import Program
from twinrun.launch.run import RunOptions, run_once
from twinrun.masking import Masked
from twinrun.protocol import Pin, PinRequest
from twinrun.protocol.registry import controls
from twinrun.recording.reader import Reader
from twinrun.twin.pinning import wanted_controls

SCHEMA = "twinrun/cost/1"
PLAIN, TOGETHER = "plain", "together"
_FEWEST = 5  # steps left to measure, after the warm-up


class CannotMeasure(TwinrunError):
    """A run made too few steps, or failed."""


@dataclass
class Round:
    """The median step of each run of a round, in the order in which they ran: one more plain run than others."""

    plain: list[float] = field(default_factory=list)
    others: list[tuple[str, float]] = field(default_factory=list)

    def ratios(self) -> Iterator[tuple[str, float]]:
        """Each run against the mean of the two plain ones beside it: a machine that slows down slows all three."""
        for place, (name, seconds) in enumerate(self.others):
            yield name, seconds / statistics.mean(self.plain[place : place + 2])

    @property
    def noise(self) -> float:
        """The largest share by which a plain run differs from the one before."""
        pairs = zip(self.plain, self.plain[1:], strict=False)
        return max(abs(one - other) / min(one, other) for one, other in pairs)


@dataclass(frozen=True)
class Cost:
    """The step time of a variant as a share of the plain one's, one number for each round."""

    name: str
    ratios: tuple[float, ...]

    @property
    def share(self) -> float:
        return statistics.median(self.ratios) - 1

    @property
    def spread(self) -> float:
        """Half of the range over the rounds."""
        return (max(self.ratios) - min(self.ratios)) / 2


@dataclass(frozen=True)
class CostReport(Masked):
    program: str
    plain_seconds: float
    steps: int  # that were measured in each run
    warm_up: int  # that were left out before them
    rounds: int
    noise: float  # how far a plain run is from the next
    costs: tuple[Cost, ...]
    failed: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()

    def measurable(self, cost: Cost) -> bool:
        return abs(cost.share) > max(cost.spread, self.noise)

    def sentence(self, cost: Cost) -> str:
        what, s = ("all controls together", "") if cost.name == TOGETHER else (cost.name, "s")
        if not self.measurable(cost):
            return f"{what}: no measurable cost (within {max(cost.spread, self.noise):.1%})"
        spread = f"± {cost.spread:.1%}" if self.rounds > 1 else "(one round: no spread)"
        if cost.share < 0:
            return f"{what} make{s} this program faster by {-cost.share:.1%} {spread}"
        return f"{what} cost{s} this program {cost.share:.1%} {spread}"

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "program": self.program,
            "plain": {"seconds": self.plain_seconds, "noise": self.noise},
            "steps": self.steps,
            "warm_up": self.warm_up,
            "rounds": self.rounds,
            "controls": [self._row(cost) for cost in self.costs],
            "failed": [{"name": name, "why": why} for name, why in self.failed],
            "unused": list(self.unused),
        }

    def _row(self, cost: Cost) -> dict[str, Any]:
        return {
            "name": cost.name,
            "seconds": self.plain_seconds * (1 + cost.share),
            "share": cost.share,
            "spread": cost.spread,
            "rounds": list(cost.ratios),
            "measurable": self.measurable(cost),
            "sentence": self.sentence(cost),
        }


@dataclass(frozen=True)
class CostOptions:
    program: Program
    request: PinRequest = field(default_factory=PinRequest)
    controls: tuple[str, ...] | None = None  # None: every control that the program uses
    steps: int = 60
    rounds: int = 3
    timeout: float | None = None


def control_names() -> list[str]:
    return [control.name for control in controls()]


def measure(options: CostOptions, say: Callable[[str], None] = lambda _: None) -> CostReport:
    """Runs the program rounds × (2 × (controls + 1) + 1) times."""
    rounds: list[Round] = []
    failed: dict[str, str] = {}
    names = options.controls
    unused: tuple[str, ...] = ()
    counts: list[int] = []

    def run(name: str) -> tuple[float, set[str]]:
        say(f"round {len(rounds)} of {options.rounds}: {name}")
        seconds, used, in_place = _run(options, name)
        if in_place is not None and not counts:
            say(f"note: {in_place}")
        counts.append(len(seconds))
        return statistics.median(seconds), used

    for turn in range(options.rounds):
        rounds.append(Round())
        plain, used = run(PLAIN)
        rounds[-1].plain.append(plain)
        if names is None:  # the first run shows which controls are used
            asked = {control.name for control in wanted_controls(options.request)}
            names = tuple(name for name in control_names() if name in used & asked)
            unused = tuple(name for name in control_names() if name not in names)
        for name in _in_turn([*names, TOGETHER], turn):
            if name in failed:
                continue
            try:
                rounds[-1].others.append((name, run(name)[0]))
            except CannotMeasure as problem:
                failed[name] = problem.message
                continue
            rounds[-1].plain.append(run(PLAIN)[0])
    return summarise(options, rounds, failed, unused, min(counts))


def summarise(
    options: CostOptions,
    rounds: list[Round],
    failed: dict[str, str],
    unused: tuple[str, ...] = (),
    steps: int = 0,
) -> CostReport:
    """From the runs of each round to costs."""
    ratios: dict[str, list[float]] = {}
    for each in rounds:
        for name, ratio in each.ratios():
            ratios.setdefault(name, []).append(ratio)
    if not ratios:
        raise CannotMeasure("no pinned run could be measured: " + "; ".join(failed.values()))
    measured = [name for name in (*control_names(), TOGETHER) if name in ratios and name not in failed]
    return CostReport(
        program=str(options.program),
        plain_seconds=statistics.median(seconds for each in rounds for seconds in each.plain),
        steps=steps,
        warm_up=warm_up(options.steps),
        rounds=len(rounds),
        noise=max(each.noise for each in rounds if each.others),
        costs=tuple(Cost(name, tuple(ratios[name])) for name in measured),
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


def _run(options: CostOptions, name: str) -> tuple[list[float], set[str], str | None]:
    pin = _pin(options.request, name)
    with tempfile.TemporaryDirectory(prefix="twinrun-cost-") as folder:
        once = RunOptions(options.program, options.steps, pin, options.timeout, folder=folder, own_view=True)
        result = run_once(once)
        if result.exit_code:
            why = result.findings[0].message if result.findings else result.reason
            raise CannotMeasure(f"the run with {name} failed: {why}")
        with closing(Reader(result.recording)) as reader:
            steady = [
                frame for frame in reader.frames() if frame.span and frame.step > warm_up(options.steps)
            ]
    seconds = [frame.seconds / frame.span for frame in steady]
    if len(seconds) < _FEWEST:
        raise CannotMeasure(
            f"{options.program} made too few steps to measure: {len(seconds)} are left after the warm-up",
            hint="let it train longer, or give a smaller --steps",
        )
    # A control of what is not imported does nothing, nor does one of the GPU where there is none.
    used = {name for name, state in result.facts.controls.items() if state.used and not state.idle}
    return seconds, used, result.in_place


def _pin(base: PinRequest, name: str) -> tuple[Pin, ...]:
    if name == PLAIN:
        return ()
    if name == TOGETHER:
        return (Pin(base),)
    # What it needs is measured on its own too.
    needed = next(control.needs for control in controls() if control.name == name)
    return (Pin(replace(base, only=(*needed, name))),)
