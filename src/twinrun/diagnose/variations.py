"""When varied twins differ: which of the variations is guilty, and which line makes it matter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from twinrun.diagnose.experiments import Laboratory, Trial
from twinrun.diagnose.suspects import blame_op
from twinrun.diagnose.wording import finding_of
from twinrun.findings.finding import Finding
from twinrun.protocol import Evidence, Suspect
from twinrun.protocol.registry import variations

_MOST_LINES = 4  # that are tried one by one


@dataclass
class Varied:
    """Experiments with something varied, and with the causes that are known already frozen."""

    lab: Laboratory
    frozen: tuple[Suspect, ...] = ()
    proved: bool = False  # every experiment that was needed was done

    def that_differ(self, names: tuple[str, ...]) -> dict[str, Trial | None] | None:
        """The variations with which the twins differ, each with its experiment. None where the check itself
        was that, or where there was no time for one. None in place of all when they differ with nothing varied too."""
        plain = self._vary((), "nothing varied")
        if plain is not None and not plain.repeats:
            return None
        self.proved = plain is not None
        if len(names) == 1 and not self.frozen:
            return {names[0]: None}
        trials = {name: self._vary((name,), f"only {name} varied") for name in names}
        self.proved = self.proved and None not in trials.values()
        if self.frozen:  # then nothing else speaks for a variation
            return {
                name: trial for name, trial in trials.items() if trial and trial.judged and not trial.repeats
            }
        return {name: trial for name, trial in trials.items() if trial is None or not trial.repeats}

    def findings(
        self, guilty: Mapping[str, Trial | None], evidence: Evidence, times: int = 1
    ) -> list[Finding]:
        """`times`: runs that must differ before a variation is called guilty."""
        others = ", and the other causes frozen," if self.frozen else ""
        found = []
        for name, trial in guilty.items():
            suspect = self._suspect(name, trial, evidence)
            proof = f"with only {name} varied{others} the twins differ, with nothing varied they repeat"
            confirmed = self.proved and self._differs_again(name, times - 1)
            found.append(finding_of(suspect, proof, confirmed=confirmed))
        return found

    def _differs_again(self, name: str, times: int) -> bool:
        for _ in range(times):
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
        """The one line, of those that a variation reaches, that makes the twins repeat when it alone is frozen."""
        for line in lines[:_MOST_LINES] if len(lines) > 1 else ():
            if not line.testable:
                continue
            trial = self._vary((name,), line.experiment, also=(line,))
            if trial is not None and trial.repeats:
                return line
        return lines[0] if lines else None

    def _op_that_differs(self, name: str, seen: Evidence) -> Suspect | None:
        with self.lab.ending_at(seen.first.step):
            trial = self._vary((name,), f"every op of the step compared, {name} varied", tracing="step")
        return blame_op(trial.evidence, pipeline=False) if trial is not None and trial.evidence else None

    def _vary(
        self, names: tuple[str, ...], what: str, also: tuple[Suspect, ...] = (), **more: Any
    ) -> Trial | None:
        return self.lab.vary(names, what, frozen=(*self.frozen, *also), **more)
