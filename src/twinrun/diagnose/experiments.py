"""Experiments: the twins again, for the few steps that matter, with something frozen or varied. Each is kept with its
outcome and the command that repeats it."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from twinrun.environment.secrets import mask_arguments
from twinrun.errors import CannotCopy
from twinrun.launch.check import observe_check
from twinrun.launch.options import CheckOptions, Screen
from twinrun.protocol import Evidence, Freeze, Interventions, Suspect, Vary
from twinrun.protocol.evidence import Code
from twinrun.protocol.intervention import as_options, without
from twinrun.protocol.spec import Tracing
from twinrun.result import DIVERGES, REPEATS, CheckResult, Experiment

MARGIN = 20  # steps beyond the first difference that must repeat


@dataclass(frozen=True)
class Trial:
    """One experiment and its outcome."""

    what: str
    result: CheckResult
    seconds: float
    evidence: Evidence | None = None
    command: str = ""

    @property
    def repeats(self) -> bool:
        return self.result.verdict == REPEATS

    @property
    def steps(self) -> int:
        return self.result.steps_compared

    def later_than(self, evidence: Evidence) -> bool:
        """The difference did not vanish and came later: something was explained, and not all."""
        diverges = self.result.verdict == DIVERGES
        return diverges and self.evidence is not None and self.evidence.early > evidence.early

    def as_experiment(self) -> Experiment:
        seconds = round(self.seconds, 1)
        return Experiment(self.what, self._outcome(), self.result.verdict, self.steps, seconds, self.command)

    def _outcome(self) -> str:
        if self.repeats:
            return f"the twins repeat for {self.steps} steps" if self.steps else "the twins repeat"
        if self.result.verdict == DIVERGES and self.evidence is not None:
            first = self.evidence.first
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
    trials: list[Trial] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)  # because the time was spent
    notes: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    longest: float = 0.0

    def freeze(
        self, suspects: Iterable[Suspect], *, what: str | None = None, tracing: Tracing = ""
    ) -> Trial | None:
        """The twins with these suspects frozen. None when it could not be tried."""
        suspects = list(suspects)
        what = what or " and ".join(dict.fromkeys(suspect.experiment for suspect in suspects))
        freezes = dict.fromkeys(freeze for suspect in suspects for freeze in suspect.freeze)
        sequential = self.options.sequential or any(suspect.sequential for suspect in suspects)
        interventions = (*self.options.interventions, *freezes)
        return self._run(what, interventions, sequential=sequential, tracing=tracing)

    def vary(
        self, names: Iterable[str], what: str, *, freeze: Iterable[Freeze] = (), tracing: Tracing = ""
    ) -> Trial | None:
        """The twins with these variations and no others."""
        plain = without(Vary, self.options.interventions)
        return self._run(what, (*plain, *(Vary(name) for name in names), *freeze), tracing=tracing)

    def _run(self, what: str, interventions: Interventions, **changes: Any) -> Trial | None:
        left = self.budget - (time.monotonic() - self.started)
        if left <= 0 or left < 0.5 * self.longest:
            self.untried.append(what)
            return None
        self.screen.say(f"trying: {what}")
        if not self.whole:
            changes["steps"] = min(self.steps, self.options.steps or self.steps)
        place = self.folder / f"{len(self.trials) + 1:02d}"
        changes |= {"interventions": interventions, "folder": str(place), "timeout": max(20.0, left)}
        options = replace(self.options, **changes)
        started = time.monotonic()
        try:
            observed = observe_check(options, self.screen)
        except CannotCopy as problem:
            self.notes.append(f"not tried: {what} ({problem.message})")
            return None
        finally:
            shutil.rmtree(place, ignore_errors=True)
        seconds = time.monotonic() - started
        self.longest = max(self.longest, seconds)
        trial = Trial(what, observed.result, seconds, observed.evidence(self.code), command(options))
        self.trials.append(trial)
        return trial


def command(options: CheckOptions) -> str:
    """The experiment as a user would type it, with every option that makes a difference."""
    words = ["twinrun", "check", "--no-diagnose", *as_options(options.interventions)]
    if options.tracing:
        words.append("--trace-pipeline" if options.tracing == "pipeline" else "--trace-ops")
    if not options.contract.bitwise:
        words += ["--contract", str(options.contract)]
    if options.runs != 2:
        words += ["--runs", str(options.runs)]
    if options.sequential:
        words.append("--sequential")
    if options.steps:
        words += ["--steps", str(options.steps)]
    program = options.program
    arguments = mask_arguments(program.arguments)
    return shlex.join([*words, *(["-m"] if program.module else []), program.target, *arguments])
