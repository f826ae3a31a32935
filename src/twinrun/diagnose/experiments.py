"""Experiments: the twins again, for the few steps that matter, with something held still. What was changed and what
came out is kept, with the command that shows it again."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from twinrun.diagnose.evidence import Evidence, Traces, evidence_of, op_traces
from twinrun.diagnose.places import relative
from twinrun.diagnose.suspect import Candidate, combined
from twinrun.launch.check import run_check
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.vary import NO_VARIATION, Variation
from twinrun.result import DIVERGES, REPEATS, CheckResult

MARGIN = 20  # steps beyond the first difference that must repeat


@dataclass(frozen=True)
class Trial:
    """One experiment and what came out of it."""

    what: str
    verdict: str
    steps: int
    seconds: float
    evidence: Evidence | None = None
    result: CheckResult | None = None
    command: str = ""

    @property
    def repeats(self) -> bool:
        return self.verdict == REPEATS

    def later_than(self, evidence: Evidence) -> bool:
        """The difference did not vanish and came later: something was explained, and not all."""
        return self.verdict == DIVERGES and self.evidence is not None and self.evidence.early > evidence.early


@dataclass
class Laboratory:
    """Runs experiments until the budget is spent, and remembers them all."""

    options: CheckOptions
    screen: Screen
    budget: float
    folder: Path
    steps: int = MARGIN
    trials: list[Trial] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    longest: float = 0.0

    def affordable(self) -> bool:
        left = self.budget - (time.monotonic() - self.started)
        return left > 0 and left >= 0.5 * self.longest

    def hold_still(
        self, candidates: list[Candidate], *, what: str | None = None, **extra: Any
    ) -> Trial | None:
        shown = what or " and ".join(dict.fromkeys(candidate.shown for candidate in candidates))
        settings = combined(candidates)
        restore = settings.pop("restore", None)
        sequential = settings.pop("sequential", False) or self.options.sequential
        settings.update(extra)
        options = replace(self.options, experiment=settings, sequential=sequential)
        if restore:
            options = replace(options, sequential=True, before_twin=_restorer(restore))
        return self._run(shown, options, ops=bool(extra.get("trace_ops")))

    def vary(self, variation: Variation, what: str, **extra: Any) -> Trial | None:
        return self._run(
            what,
            replace(self.options, variation=variation, experiment=extra),
            ops=bool(extra.get("trace_ops")),
        )

    def plain(self, what: str) -> Trial | None:
        return self._run(what, replace(self.options, variation=NO_VARIATION))

    def _run(self, what: str, options: CheckOptions, ops: bool = False) -> Trial | None:
        """None when there is no time left for it."""
        if not self.affordable():
            self.untried.append(what)
            return None
        self.screen.say(f"trying: {what}")
        steps = self.steps if options.steps is None else min(self.steps, options.steps)
        place = self.folder / f"{len(self.trials) + 1:02d}"
        left = self.budget - (time.monotonic() - self.started)
        options = replace(options, steps=steps, folder=str(place), timeout=max(20.0, left))
        traces: list[tuple[Traces, Traces] | None] = []

        def held(twins: Any, _: Any) -> dict[str, Any]:
            if ops:
                traces.append(op_traces(twins))
            return {}

        started = time.monotonic()
        result = run_check(options, self._shown(), held)
        seconds = time.monotonic() - started
        self.longest = max(self.longest, seconds)
        shutil.rmtree(place, ignore_errors=True)
        evidence = evidence_of(result, traces[0] if traces else None)
        trial = Trial(
            what, result.verdict, result.steps_compared, seconds, evidence, result, command(options)
        )
        self.trials.append(trial)
        return trial

    def _shown(self) -> Screen:
        """The screen for one experiment: it belongs to the whole diagnosis, and is not closed with it."""
        from twinrun.diagnose.diagnosis import KeptOpen

        return KeptOpen(self.screen)

    def as_json(self) -> tuple[dict[str, Any], ...]:
        return tuple(
            {
                "what": trial.what,
                "came_out": _came_out(trial),
                "verdict": trial.verdict,
                "steps": trial.steps,
                "seconds": round(trial.seconds, 1),
                "command": trial.command,
            }
            for trial in self.trials
        )


def _came_out(trial: Trial) -> str:
    if trial.repeats:
        return f"the twins repeat for {trial.steps} steps" if trial.steps else "the twins repeat"
    if trial.verdict == DIVERGES and trial.evidence is not None:
        return f"they still differ, at step {trial.evidence.first.step}, phase {trial.evidence.first.phase}"
    reason = trial.result.reason if trial.result else None
    return f"could not be judged: {reason}" if reason else trial.verdict


def _restorer(paths: list[str]) -> Callable[[], None]:
    """Files as they are now, put back before each twin starts."""
    kept = {path: Path(path).read_bytes() for path in paths if Path(path).is_file()}

    def restore() -> None:
        for path, content in kept.items():
            Path(path).write_bytes(content)

    return restore


def command(options: CheckOptions) -> str:
    """The experiment as a user would type it, to see for themselves."""
    experiment = options.experiment
    words = [f"{name}={value}" for name, value in experiment.get("environment", {}).items()]
    words += ["twinrun", "check", "--no-diagnose"]
    for kind, file, line in experiment.get("steady", []):
        words += ["--hold-still", f"{kind}:{relative(file)}:{line}"]
    if experiment.get("addresses"):
        words += ["--hold-still", "addresses"]
    if experiment.get("trace_ops"):
        words.append("--trace-pipeline" if experiment["trace_ops"] == "pipeline" else "--trace-ops")
    if options.variation.names:
        words += ["--vary", ",".join(options.variation.names)]
    if options.sequential:
        words.append("--sequential")
    if options.steps:
        words += ["--steps", str(options.steps)]
    program = options.program
    return shlex.join([*words, *(["-m"] if program.module else []), program.target, *program.arguments])
