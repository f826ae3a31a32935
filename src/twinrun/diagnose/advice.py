"""What is advised against an op that varies is tried first: it may refuse to run the op here, or not help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from twinrun.counted import counted
from twinrun.diagnose.experiments import Laboratory, Trial
from twinrun.diagnose.wording import finding_of
from twinrun.findings.finding import Finding
from twinrun.protocol import Suspect
from twinrun.protocol.suspect import Remedy


@dataclass(frozen=True)
class Advice:
    lab: Laboratory
    frozen: Sequence[Suspect]  # with the causes that are known already frozen

    def given(self, op: Suspect) -> tuple[Finding, list[Finding]]:
        """The finding, and those that say why the usual remedy cannot be taken."""
        found = finding_of(op, op.experiment, confirmed=True)
        remedy = op.remedy
        if remedy is None or remedy.written not in (found.fix or ""):
            return found, []
        trial = self.lab.pin(remedy.control, frozen=self.frozen)
        if trial is None:
            return self._untried(op, remedy, found), []
        if trial.repeats:
            tried = f"tried: with {remedy.control} on, the twins repeat for {counted(trial.steps, 'step')}"
            return replace(found, evidence=(*found.evidence, tried)), []
        refused = [each for each in trial.result.findings if each.code == "TW406"]
        return self._instead(op, remedy, trial, refused), refused

    def _untried(self, op: Suspect, remedy: Remedy, found: Finding) -> Finding:
        pinned = self.lab.options.pin
        if pinned is not None and pinned.wants(remedy.control):  # the check itself has tried it
            return self._another(op, remedy, f"with {remedy.control} pinned, the twins still differ")
        untried = f"not tried: with {remedy.control} on"
        if remedy.instead:
            found = finding_of(replace(op, advice=remedy.instead), op.experiment, confirmed=True)
            untried += ", which refuses this op where it has no deterministic kernel"
        return replace(found, evidence=(*found.evidence, untried))

    def _instead(self, op: Suspect, remedy: Remedy, trial: Trial, refused: list[Finding]) -> Finding:
        if refused:
            why = f"{remedy.control} refuses to run it here ({refused[0].code})"
        elif trial.judged:
            why = f"with {remedy.control} on, the twins still differ"
        else:
            why = f"{remedy.control} could not be tried: {trial.result.reason or 'the program ended'}"
        return self._another(op, remedy, why)

    def _another(self, op: Suspect, remedy: Remedy, why: str) -> Finding:
        """`why` the remedy does not help."""
        advice = remedy.instead or "compute it with another op, or on a device where it does not vary"
        found = finding_of(replace(op, advice=f"{why}; {advice}"), op.experiment, confirmed=True)
        return replace(found, evidence=(*found.evidence, f"tried: {why}"))
