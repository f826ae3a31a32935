"""When varied twins differ: which of the variations is guilty, and which line makes it matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from twinrun.diagnose.experiments import Laboratory, Trial
from twinrun.diagnose.suspects import blame_op
from twinrun.diagnose.wording import finding_of
from twinrun.findings.finding import Finding
from twinrun.protocol import Evidence, Suspect
from twinrun.protocol.registry import variations

_MOST_LINES = 4  # that are tried one by one


@dataclass(frozen=True)
class Varied:
    """Experiments with something varied, and with the causes that are known already frozen."""

    lab: Laboratory
    frozen: tuple[Suspect, ...] = ()
    times: int = 1  # runs that must differ

    def blame(self, names: tuple[str, ...], evidence: Evidence) -> list[Finding] | None:
        """None when the twins differ with nothing varied as well."""
        plain = self._vary((), "nothing varied")
        if plain is not None and not plain.repeats:
            return None
        return [each for name in names for each in self._blame(name, len(names) == 1, plain, evidence)]

    def _blame(self, name: str, only_one: bool, plain: Trial | None, evidence: Evidence) -> Iterator[Finding]:
        if only_one and not self.frozen:
            trial = None  # the check itself was this experiment
        else:
            trial = self._vary((name,), f"only {name} varied")
            if self.frozen and (trial is None or not trial.judged):
                return  # then nothing speaks for it
        if trial is not None and trial.repeats:
            return
        proved = plain is not None and (trial is not None or only_one) and self._differs_again(name)
        others = ", and the other causes frozen," if self.frozen else ""
        proof = f"with only {name} varied{others} the twins differ, with nothing varied they repeat"
        yield finding_of(self._suspect(name, trial, evidence), proof, confirmed=proved)

    def _differs_again(self, name: str) -> bool:
        """Whether what was seen once is seen as often as it takes to rule out luck."""
        for _ in range(self.times - 1):
            trial = self._vary((name,), f"once more, only {name} varied", again=True)
            if trial is None or not trial.judged or trial.repeats:
                return False
        return True

    def _suspect(self, name: str, trial: Trial | None, evidence: Evidence) -> Suspect:
        seen = trial.evidence if trial is not None and trial.evidence is not None else evidence
        source, variation = variations()[name]
        suspect = Suspect(source.name, variation.code, variation.message)
        if variation.traces_ops:
            found = self._op_that_differs(name, seen)
        else:
            found = self._guilty(name, list(source.reached_by(name, seen)))
        if found is None:
            return suspect
        return replace(suspect, file=found.file, line=found.line, notes=found.notes)

    def _guilty(self, name: str, lines: list[Suspect]) -> Suspect | None:
        """Of several lines that a variation reaches, the one that alone, frozen, makes the twins repeat."""
        for line in lines[:_MOST_LINES] if len(lines) > 1 else ():
            if not line.testable:
                continue
            trial = self._vary((name,), line.experiment, also=(line,))
            if trial is not None and trial.repeats:
                return line
        return lines[0] if lines else None

    def _op_that_differs(self, name: str, seen: Evidence) -> Suspect | None:
        before, self.lab.steps = self.lab.steps, seen.first.step
        trial = self._vary((name,), f"every op of the step compared, {name} varied", tracing="step")
        self.lab.steps = before
        return blame_op(trial.evidence, pipeline=False) if trial is not None and trial.evidence else None

    def _vary(
        self, names: tuple[str, ...], what: str, also: tuple[Suspect, ...] = (), **more: Any
    ) -> Trial | None:
        return self.lab.vary(names, what, frozen=(*self.frozen, *also), **more)
