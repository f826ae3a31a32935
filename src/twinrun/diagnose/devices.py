"""When twins on different devices differ: whether the devices make them, and which op it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from twinrun.counted import counted
from twinrun.diagnose.experiments import Laboratory, Trial
from twinrun.diagnose.suspects import blame_device, cut_short
from twinrun.diagnose.wording import finding_of
from twinrun.findings.finding import Finding
from twinrun.protocol import Evidence, Suspect
from twinrun.recording.frame import GIVEN


@dataclass
class OnDevices:
    """Experiments with both twins on one device, then with the ops of both devices compared."""

    lab: Laboratory
    proved: bool = False  # on each device alone the twins repeat

    def alone(self) -> Trial | None:
        """An experiment in which the twins differ on one device alone: then something else makes them differ."""
        found = []
        for name in dict.fromkeys(self.lab.options.devices):
            trial = self.lab.on_device(name)
            if trial is not None and trial.judged and not trial.repeats:
                return trial
            found.append(trial is not None and trial.repeats)
        self.proved = all(found)
        return None

    def finding(self, evidence: Evidence) -> Finding | None:
        suspect = blame_device(self._op_by_op(evidence))
        if suspect is None:
            return None
        names = self.lab.options.devices
        each = f"with both twins on {names[0]}, and with both on {names[1]}, they repeat"
        proof = f"{each}; with one on each they do not" if self.proved else "not every device was tried alone"
        return self._with_remedy(suspect, finding_of(suspect, proof, confirmed=self.proved))

    def _op_by_op(self, evidence: Evidence) -> Evidence:
        """The evidence, with a trace of the ops where that can explain it."""
        first = evidence.first
        computed = first.step > 0 and first.phase not in GIVEN
        if not computed or first.process:  # ops are traced in the program itself
            return evidence
        what = "every op of the step compared between the devices"
        with self.lab.ending_at(first.step):
            trial = self.lab.freeze([], what=what, tracing="step")
        seen = trial.evidence if trial is not None else None
        self.lab.notes += cut_short(seen) if seen is not None else []
        if seen is not None and (seen.losses_alike or not evidence.losses_alike):
            return replace(evidence, traces=seen.traces)
        if trial is not None and trial.judged:
            where = f"part in phase {seen.first.phase}, where they agreed in the check" if seen else "agree"
            self.lab.notes.append(f"run op by op, the twins {where}: no op can be named")
        return evidence

    def _with_remedy(self, suspect: Suspect, found: Finding) -> Finding:
        remedy = suspect.remedy
        trial = self.lab.pin(remedy.control) if remedy is not None else None
        if remedy is None or trial is None or not trial.judged:
            return found
        if not trial.repeats:
            tried = f"tried: with {remedy.control} pinned they still differ"
            return replace(found, evidence=(*found.evidence, tried))
        tried = f"tried: with {remedy.control} pinned they repeat for {counted(trial.steps, 'step')}"
        return replace(found, evidence=(*found.evidence, tried), fix=remedy.written)
