"""Experiments: the twins again, for the few steps that matter, with something frozen or varied. Each is kept with its
outcome and the command that repeats it; what is known from a saved result is not run again."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf
from pathlib import Path

from twinrun.counted import counted
from twinrun.errors import CannotCopy, CannotWrite
from twinrun.interrupt import Interrupted
from twinrun.launch.check import observe_check
from twinrun.launch.folders import Place
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.side_by_side import side_by_side
from twinrun.masking import MASK, mask_tokens
from twinrun.protocol import Devices, Evidence, Interventions, Pin, PinRequest, Suspect, Vary
from twinrun.protocol.evidence import Code
from twinrun.protocol.intervention import as_options, without
from twinrun.protocol.spec import Tracing
from twinrun.recording.frame import PHASES
from twinrun.recording.writing import filling
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult, Experiment

_PUT_IN = f"replace {MASK} with the real values; --show-arguments shows all but credentials"
MARGIN = 20  # steps beyond the first difference that must repeat
Reach = tuple[float, int]  # step and phase up to which the twins agree
FOREVER: Reach = (inf, 0)


@dataclass(frozen=True)
class Trial:
    """One experiment and its outcome. `interventions` are the options that ask for them, as texts."""

    what: str
    result: CheckResult
    seconds: float
    evidence: Evidence | None = None
    command: str = ""
    interventions: frozenset[str] = frozenset()
    tracing: Tracing = ""

    @property
    def judged(self) -> bool:
        return self.result.verdict != UNDECIDED

    @property
    def repeats(self) -> bool:
        return self.result.verdict == REPEATS

    @property
    def varied(self) -> bool:
        return any(text.startswith("--vary ") for text in self.interventions)

    @property
    def steps(self) -> int:
        return self.result.steps_compared

    @property
    def reach(self) -> Reach:
        """How far the twins agreed: not at all where that is not known."""
        first = self.result.first_difference
        if self.repeats:
            return FOREVER
        return (first.step, PHASES.index(first.phase)) if first is not None and self.judged else (-1, 0)

    def as_experiment(self) -> Experiment:
        return Experiment(
            self.what,
            self._outcome(),
            self.result.verdict,
            self.steps,
            round(self.seconds, 1),
            self.command,
            tuple(sorted(self.interventions)),
            self.tracing,
            self.result.first_difference,
        )

    @staticmethod
    def saved(experiment: Experiment, program: str) -> Trial:
        """A trial as far as a saved result knows it: without the evidence."""
        result = CheckResult(
            program,
            experiment.verdict,
            steps_compared=experiment.steps,
            first_difference=experiment.first_difference,
        )
        interventions, tracing = frozenset(experiment.interventions), experiment.tracing
        seconds = experiment.seconds or 0.0
        return Trial(experiment.what, result, seconds, None, experiment.command, interventions, tracing)

    def _outcome(self) -> str:
        if self.repeats:
            return f"the twins repeat for {counted(self.steps, 'step')}" if self.steps else "the twins repeat"
        first = self.result.first_difference
        if self.result.verdict == DIVERGES and first is not None:
            return f"they still differ, at step {first.step}, phase {first.phase}"
        return f"could not be judged: {self.result.reason}" if self.result.reason else self.result.verdict


@dataclass
class Laboratory:
    """Runs experiments until the budget is spent, and remembers them all."""

    options: CheckOptions
    screen: Screen
    budget: float
    folder: Path
    code: Code
    steps: int = MARGIN
    whole: bool = False  # run the program to its end
    usual: float = 0.0  # seconds that the check took
    trials: list[Trial] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)  # because the time was spent, or all was interrupted
    interrupted: Interrupted | None = None
    notes: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    longest: float = 0.0
    at_once: int = 1  # experiments that have room side by side
    expected: int = 1  # experiments in all, as far as can be seen
    _numbers: count[int] = field(default_factory=lambda: count(1))

    def freeze(
        self,
        suspects: Iterable[Suspect],
        *,
        what: str | None = None,
        tracing: Tracing = "",
        screen: Screen | None = None,
    ) -> Trial | None:
        """The twins with these suspects frozen. None when it could not be tried."""
        suspects = list(suspects)
        what = what or " and ".join(dict.fromkeys(suspect.experiment for suspect in suspects))
        return self._run(what, self.options.interventions, suspects, screen or self.screen, tracing)

    def freeze_side_by_side(self, wanted: Sequence[tuple[list[Suspect], str]]) -> None:
        """Several experiments at a time, as many as the machine has room for."""

        def freeze(suspects: list[Suspect], what: str) -> Callable[[Screen], object]:
            return lambda screen: self.freeze(suspects, what=what, screen=screen)

        try:
            side_by_side([freeze(*each) for each in wanted], self.at_once)
        except KeyboardInterrupt as stop:
            self.interrupted = Interrupted.of(stop)
            self.untried += [what for _, what in wanted]

    def frozen(self, suspects: Iterable[Suspect]) -> frozenset[str]:
        """The interventions of the experiment with these suspects frozen."""
        return _texts(_frozen_too(self.options.interventions, suspects))

    def vary(
        self, names: Iterable[str], what: str, *, frozen: Sequence[Suspect] = (), tracing: Tracing = "",
        again: bool = False,
    ) -> Trial | None:  # fmt: skip
        """The twins with these variations and no others; `again`, though it was done before."""
        varied = (*without(Vary, self.options.interventions), *(Vary(name) for name in names))
        known = None if again else self.known(_texts(_frozen_too(varied, frozen)), tracing)
        return known or self._run(what, varied, frozen, self.screen, tracing)

    def on_device(self, name: str) -> Trial | None:
        """The twins both on this device."""
        interventions = on_one_device(self.options.interventions, name)
        return self._run(f"with both twins on {name}", interventions, (), self.screen, "")

    def pin(self, control: str, *, frozen: Sequence[Suspect] = ()) -> Trial | None:
        """The twins with this one control pinned. None when it could not be tried, or when the check was pinned."""
        if any(isinstance(each, Pin) for each in self.options.interventions):
            return None
        pinned = (*self.options.interventions, Pin(PinRequest(only=(control,))))
        return self._run(f"with {control} pinned", pinned, frozen, self.screen, "")

    def known(self, interventions: frozenset[str], tracing: Tracing = "") -> Trial | None:
        """The experiment with exactly these, where it was done."""
        done = (trial for trial in self.trials if trial.tracing == tracing)
        return next((trial for trial in done if trial.interventions == interventions), None)

    @contextlib.contextmanager
    def ending_at(self, step: int) -> Iterator[None]:
        """Experiments that end at this step: of one that compares ops, what comes after it says nothing."""
        usual, self.steps = self.steps, step
        try:
            yield
        finally:
            self.steps = usual

    @property
    def spent(self) -> bool:
        left = self.left
        return self.interrupted is not None or left <= 0 or left < 0.5 * self.longest

    @property
    def left(self) -> float:
        return self.budget - (time.monotonic() - self.started)

    def _run(
        self,
        what: str,
        interventions: Interventions,
        frozen: Sequence[Suspect],
        screen: Screen,
        tracing: Tracing,
    ) -> Trial | None:
        if self.spent:
            self.untried.append(what)
            return None
        number = next(self._numbers)
        screen.say(
            f"trying {number} of about {max(number, self.expected)}: {what}", self.started + self.budget
        )
        interventions = _frozen_too(interventions, frozen)
        sequential = self.options.sequential or any(suspect.sequential for suspect in frozen)
        steps = self.options.steps if self.whole else min(self.steps, self.options.steps or self.steps)
        place = self.folder / f"{number:02d}"
        # What is frozen may keep the program waiting for ever: that must not cost all the time there is.
        patience = min(max(20.0, self.left), 30.0 + 4 * max(self.usual, self.longest))
        options = replace(
            self.options, interventions=interventions, sequential=sequential, tracing=tracing, steps=steps,
            folder=str(place), timeout=patience,
        )  # fmt: skip
        started = time.monotonic()
        try:
            with filling(place):
                place.mkdir(parents=True)
                observed = observe_check(options, Place(place), screen)
        except (CannotCopy, CannotWrite) as problem:
            self.notes.append(f"not tried: {what} ({problem.message})")
            return None
        except KeyboardInterrupt as stop:
            self.interrupted = Interrupted.of(stop)
            self.untried.append(what)
            return None
        finally:
            shutil.rmtree(place, ignore_errors=True)
        seconds = time.monotonic() - started
        if observed.result.verdict != UNDECIDED:
            self.longest = max(self.longest, seconds)
        evidence = observed.evidence(self.code)
        texts = _texts(interventions)
        trial = Trial(what, observed.result, seconds, evidence, command(options), texts, tracing)
        self.trials.append(trial)
        return trial


def on_one_device(interventions: Interventions, name: str) -> Interventions:
    return (*without(Devices, interventions), Devices((name, name)))


def _frozen_too(interventions: Interventions, suspects: Iterable[Suspect]) -> Interventions:
    return (*interventions, *dict.fromkeys(freeze for suspect in suspects for freeze in suspect.freeze))


def _texts(interventions: Interventions) -> frozenset[str]:
    return frozenset(" ".join(as_options((each,))) for each in interventions)


def command(options: CheckOptions, *, diagnose: bool = False) -> str:
    """The check as a user would type it, with every option that makes a difference."""
    words = ["twinrun", "check", *([] if diagnose else ["--no-diagnose"]), *as_options(options.interventions)]
    if options.tracing:
        words.append("--trace-pipeline" if options.tracing == "pipeline" else "--trace-ops")
    if not options.contract.bitwise:
        words += ["--contract", str(options.contract)]
    if options.runs != 2:
        words += ["--runs", str(options.runs)]
    if options.workers:
        words += ["--workers", str(options.workers)]
        if options.worker_timeout != CheckOptions.worker_timeout:
            words += ["--worker-timeout", f"{str(options.worker_timeout).removesuffix('.0')}s"]
    if options.replicas:
        words += ["--replicas", str(options.replicas)]
    if options.sequential:
        words.append("--sequential")
    if options.steps:
        words += ["--steps", str(options.steps)]
    program = options.program
    words += [*(["-m"] if program.module else []), program.target]
    line = shlex.join([*map(mask_tokens, words), *program.shown_arguments])
    return f"{line}  # {_PUT_IN}" if MASK in line else line
