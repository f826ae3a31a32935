"""The search for the cause, as an engineer would go about it: freeze the likeliest source and see whether the twins
repeat; if the difference only moves to later, keep that and look again; if nothing alone helps, freeze everything, and
then release one thing after the other until only what is needed is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from twinrun.diagnose.experiments import Laboratory, Trial
from twinrun.diagnose.suspects import blame_op
from twinrun.diagnose.wording import finding_of
from twinrun.findings.finding import Finding
from twinrun.protocol import Evidence, Suspect
from twinrun.recording.frame import PHASES

_ROUNDS = 6  # causes found one behind the other, at most
_LIKELY = 7  # a suspect of this rank is tried before the ops of a step are
_BATCH = PHASES.index("batch")  # phases after this one are computed
_ALONE = 3  # so many are tried alone before all are tried together
_WORTH_A_TRIAL = 3  # of its own, by rank; what is less likely is tried with the rest


@dataclass
class Search:
    lab: Laboratory
    suspects: Callable[[Evidence], list[Suspect]]  # best supported first
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _tried: set[tuple[Any, ...]] = field(default_factory=set)
    _ops_traced: bool = False
    _lumped: bool = False

    def explain(self, evidence: Evidence) -> None:
        kept: list[Suspect] = []
        for _ in range(_ROUNDS):
            known = {suspect.key for suspect in kept}
            found = [s for s in self.suspects(evidence) if s.key not in known and s.testable]
            enough = _WORTH_A_TRIAL if _in_batch(evidence) else _LIKELY
            likely = found and found[0].rank >= enough
            if not likely and self._blame_op(kept, evidence):
                return
            moved = self._try(kept, found, evidence) if found else None
            if moved is None:
                break
            if moved.repeats:
                return
            evidence = moved.evidence or evidence
            self._ops_traced = False
        if not self._blame_op(kept, evidence):
            self._unexplained(kept, self.suspects(evidence))

    def _try(self, kept: list[Suspect], found: list[Suspect], evidence: Evidence) -> Trial | None:
        """The likeliest alone, then all together. None when neither moves anything; `kept` grows with what does."""
        alone = [s for s in found[:_ALONE] if s is found[0] or s.rank >= _WORTH_A_TRIAL]
        for suspect in alone:
            trial = self._frozen([*kept, suspect])
            if trial is None:
                return None
            if trial.repeats:
                # Of what was kept together, not each was shown to be needed.
                confirm = self._confirm_needed if self._lumped else self._confirm
                confirm([*kept, suspect], trial)
                return trial
            if trial.later_than(evidence):
                kept.append(suspect)
                return trial
        if len(found) == 1:
            return None
        together = self._frozen([*kept, *found], what="with everything suspected frozen")
        if together is None:
            return None
        if together.repeats:
            self._confirm_needed([*kept, *found], together)
            return together
        if together.later_than(evidence):
            kept += found
            self._lumped = True
            return together
        return None

    def _frozen(self, suspects: list[Suspect], what: str | None = None) -> Trial | None:
        self._tried.update(suspect.key for suspect in suspects)
        return self.lab.freeze(suspects, what=what)

    def _needed(self, frozen: list[Suspect]) -> tuple[list[Suspect], list[Suspect]]:
        """Release what is not needed: the unlikely all at once, then one after the other, the least likely first.
        Returns those without which the twins differ again, and those of which that is not known because the time was
        spent."""
        left = sorted(frozen, key=lambda s: s.rank)
        for unlikely in (left[:-_ALONE], left[: len(left) // 2]):
            rest = [s for s in left if s not in unlikely]
            if len(unlikely) > 1 and len(rest) > 1:
                trial = self.lab.freeze(rest, what="with the likeliest of it frozen")
                if trial is not None and trial.repeats:
                    left = rest
                    break
        needed: list[Suspect] = []
        while left:
            suspect, *rest = left
            if not rest and not needed:
                return [suspect], []
            what = f"with all of it frozen but this: {suspect.message}"
            trial = self.lab.freeze([*needed, *rest], what=what)
            if trial is None:
                break
            left = rest
            if not trial.repeats:
                needed.append(suspect)
        return sorted(needed, key=lambda s: -s.rank), sorted(left, key=lambda s: -s.rank)

    def _confirm_needed(self, frozen: list[Suspect], trial: Trial) -> None:
        needed, unknown = self._needed(frozen)
        self._confirm(needed, trial, others=unknown)
        perhaps = (
            "the twins repeat with this and the other suspects frozen; whether it is needed was not tried"
        )
        self.findings += [finding_of(suspect, perhaps, confirmed=False) for suspect in unknown[:3]]

    def _confirm(self, causes: Sequence[Suspect], trial: Trial, others: Sequence[Suspect] = ()) -> None:
        for cause in causes:
            found = self._narrow(cause, [s for s in (*causes, *others) if s is not cause])
            self.findings.append(finding_of(found, self._proof(trial, len(causes), found), confirmed=True))

    def _narrow(self, cause: Suspect, others: list[Suspect]) -> Suspect:
        """Of several lines that share a stream, the one that alone is enough, where there is one."""
        if len(cause.freeze) < 2 or not cause.narrows:
            return cause
        for freeze in cause.freeze[:4]:
            what = f"{cause.experiment}, at line {freeze.line} only"
            trial = self.lab.freeze([*others, cause.only(freeze)], what=what)
            if trial is not None and trial.repeats:
                return cause.only(freeze)
        return cause

    def _proof(self, trial: Trial, causes: int, cause: Suspect) -> str:
        count = len(self.lab.trials)
        seconds = sum(one.seconds for one in self.lab.trials)
        steps = f"for {trial.steps} step{'s' if trial.steps > 1 else ''}" if trial.steps else "to the end"
        others = ", and the other causes too," if causes > 1 else ""
        done = f"{count} experiment{'s' if count > 1 else ''}, {seconds:.0f} s"
        return f"{cause.experiment}{others} the twins repeat {steps} ({done})"

    def _blame_op(self, kept: list[Suspect], evidence: Evidence) -> bool:
        """Run it op by op in both twins, and find the first op whose inputs match and whose outputs do not: an op of
        the step when what went in was equal, an op of the input pipeline when a batch differs."""
        pipeline = _in_batch(evidence)
        if self._ops_traced or evidence.first.process or not (pipeline or _computed(evidence)):
            return False
        self._ops_traced = True
        trial = self._traced(kept, evidence, pipeline)
        seen = trial.evidence if trial is not None else None
        if seen is None:
            return False
        op = blame_op(seen, pipeline=pipeline)
        if op is None:
            return False
        self.findings.append(finding_of(op, op.experiment, confirmed=True))
        later = "with it frozen the difference comes later"
        self.findings += [finding_of(suspect, later, confirmed=False) for suspect in kept]
        return True

    def _traced(self, kept: list[Suspect], evidence: Evidence, pipeline: bool) -> Trial | None:
        where = "the input pipeline" if pipeline else "the step"
        what = f"every op of {where} compared between the twins"
        usual, self.lab.steps = self.lab.steps, evidence.first.step
        trial = None
        for _ in range(2):  # a race may need a second chance, and more steps, to show
            trial = self.lab.freeze(kept, what=what, tracing="pipeline" if pipeline else "step")
            if trial is None or not trial.repeats:
                break
            self.lab.steps = usual
        self.lab.steps = usual
        return trial

    def _unexplained(self, kept: list[Suspect], rest: list[Suspect]) -> None:
        """Report what is known, as what it is."""
        later = "with it frozen the difference comes later, and does not vanish"
        self.findings += [finding_of(suspect, later, confirmed=False) for suspect in kept]
        for suspect in [s for s in rest if s.key not in self._tried and s.rank >= _WORTH_A_TRIAL][:2]:
            why = f"not tried: {suspect.experiment}" if suspect.testable else "no experiment can freeze it"
            self.findings.append(finding_of(suspect, why, confirmed=False))
        tried = "no experiment made the twins repeat" if self.lab.trials else "there was nothing to try"
        self.notes.append(f"no cause found: {tried}")


def _computed(evidence: Evidence) -> bool:
    """What went into the step was equal: what differs was computed."""
    return evidence.first.step > 0 and PHASES.index(evidence.first.phase) > _BATCH


def _in_batch(evidence: Evidence) -> bool:
    return evidence.first.step > 0 and PHASES.index(evidence.first.phase) == _BATCH
