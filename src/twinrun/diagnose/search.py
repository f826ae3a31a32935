"""The search for the cause, as an engineer would go about it: hold the likeliest source still and look whether the
twins repeat; if the difference only moves to later, keep that and look again; if nothing alone helps, hold everything
still, and then let go of one thing after the other until only what is needed is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from twinrun.diagnose.evidence import Evidence
from twinrun.diagnose.experiments import Trial
from twinrun.diagnose.ops import first_culprit
from twinrun.diagnose.suspect import Candidate
from twinrun.diagnose.wording import finding_of, op_finding
from twinrun.findings.finding import Finding
from twinrun.recording.frame import PHASES

_ROUNDS = 6  # causes found one behind the other, at most
_LIKELY = 7  # a candidate of this rank is tried before the ops of a step are
_FED = PHASES.index("batch")  # phases after this one are computed
_ALONE = 3  # so many are tried alone before all are tried together
_WORTH_A_TRIAL = 3  # of its own, by rank; what is less likely is tried with the rest
_NARROWED = (
    "numpy",
    "python-random",
    "generator",
    "entropy",
    "name",
    "clock",
    "date",
    "tf-random",
    "shuffle",
)


class Experiments(Protocol):
    """What the search needs of a laboratory."""

    steps: int
    trials: list[Trial]

    def hold_still(
        self, candidates: list[Candidate], *, what: str | None = None, **extra: Any
    ) -> Trial | None: ...


@dataclass
class Search:
    lab: Experiments
    suspects: Callable[[Evidence], list[Candidate]]  # best supported first
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _tried: set[tuple[Any, ...]] = field(default_factory=set)
    _op_tried: bool = False
    _lumped: bool = False

    def explain(self, evidence: Evidence) -> None:
        kept: list[Candidate] = []
        for _ in range(_ROUNDS):
            known = {candidate.key() for candidate in kept}
            found = [c for c in self.suspects(evidence) if c.key() not in known and c.holdable]
            enough = _WORTH_A_TRIAL if _fed(evidence) else _LIKELY
            likely = found and found[0].rank >= enough
            if not likely and self._blame_op(kept, evidence):
                return
            moved = self._try(kept, found, evidence) if found else None
            if moved is None:
                break
            if moved.repeats:
                return
            evidence = moved.evidence or evidence
            self._op_tried = False
        if not self._blame_op(kept, evidence):
            self._unexplained(kept, self.suspects(evidence))

    def _try(self, kept: list[Candidate], found: list[Candidate], evidence: Evidence) -> Trial | None:
        """The likeliest alone, then all together. None when neither moves anything; `kept` grows with what does."""
        alone = [c for c in found[:_ALONE] if c is found[0] or c.rank >= _WORTH_A_TRIAL]
        for candidate in alone:
            trial = self._held([*kept, candidate])
            if trial is None:
                return None
            if trial.repeats:
                if self._lumped:  # not each of what is kept was shown to be needed
                    self._confirm_needed([*kept, candidate], trial)
                else:
                    self._confirm([*kept, candidate], trial)
                return trial
            if trial.later_than(evidence):
                kept.append(candidate)
                return trial
        if len(found) == 1:
            return None
        together = self._held([*kept, *found], what="everything suspected held still")
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

    def _held(self, held: list[Candidate], what: str | None = None) -> Trial | None:
        self._tried.update(candidate.key() for candidate in held)
        return self.lab.hold_still(held, what=what)

    def _needed(self, held: list[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
        """Let go of what is not needed: the unlikely all at once, then one after the other, the least likely first. Those
        without which the twins differ again, and those of which that is not known because the time was spent."""
        left = sorted(held, key=lambda c: c.rank)
        for unlikely in (left[:-_ALONE], left[: len(left) // 2]):
            rest = [c for c in left if c not in unlikely]
            if len(unlikely) > 1 and len(rest) > 1:
                trial = self.lab.hold_still(rest, what="the likeliest of it held still")
                if trial is not None and trial.repeats:
                    left = rest
                    break
        needed: list[Candidate] = []
        while left:
            candidate, *rest = left
            if not rest and not needed:
                return [candidate], []
            trial = self.lab.hold_still([*needed, *rest], what=f"all of it but this: {candidate.message}")
            if trial is None:
                break
            left = rest
            if not trial.repeats:
                needed.append(candidate)
        return sorted(needed, key=lambda c: -c.rank), sorted(left, key=lambda c: -c.rank)

    def _confirm_needed(self, held: list[Candidate], trial: Trial) -> None:
        needed, unknown = self._needed(held)
        self._confirm(needed, trial, others=unknown)
        perhaps = (
            "the twins repeat with this and the other suspects held still; whether it is needed was not tried"
        )
        self.findings += [finding_of(candidate, perhaps, confirmed=False) for candidate in unknown[:3]]

    def _confirm(self, causes: Sequence[Candidate], trial: Trial, others: Sequence[Candidate] = ()) -> None:
        narrowed = [
            self._narrow(cause, [c for c in (*causes, *others) if c is not cause]) for cause in causes
        ]
        self.findings += [finding_of(c, self._shown(trial, len(causes), c), confirmed=True) for c in narrowed]

    def _narrow(self, cause: Candidate, others: list[Candidate]) -> Candidate:
        """Of several lines that share a stream, the one that alone is enough, where there is one."""
        if len(cause.sites) < 2 or cause.kind not in _NARROWED:
            return cause
        for site in cause.sites[:4]:
            trial = self.lab.hold_still(
                [*others, cause.at(site)], what=f"{cause.shown}, at line {site[2]} only"
            )
            if trial is not None and trial.repeats:
                return cause.at(site)
        return cause

    def _shown(self, trial: Trial, causes: int, cause: Candidate) -> str:
        count = len(self.lab.trials)
        seconds = sum(one.seconds for one in self.lab.trials)
        steps = f"for {trial.steps} step{'s' if trial.steps > 1 else ''}" if trial.steps else "to the end"
        others = ", and the other causes too," if causes > 1 else ""
        done = f"{count} experiment{'s' if count > 1 else ''}, {seconds:.0f} s"
        return f"shown: {cause.shown}{others} the twins repeat {steps} ({done})"

    def _blame_op(self, kept: list[Candidate], evidence: Evidence) -> bool:
        """Run it op by op in both twins, and find the first op whose inputs match and whose outputs do not: an op of the
        step when what went in was equal, an op of the input pipeline when a batch differs."""
        fed = _fed(evidence)
        if self._op_tried or not (fed or _computed(evidence)):
            return False
        self._op_tried = True
        usual = self.lab.steps
        self.lab.steps = evidence.first.step
        trial = None
        where = "the input pipeline" if fed else "the step"
        for _ in range(2):  # a race may need a second chance, and more steps, to show
            trial = self.lab.hold_still(
                kept,
                what=f"every op of {where} compared between the twins",
                trace_ops="pipeline" if fed else True,
            )
            if trial is None or not trial.repeats:
                break
            self.lab.steps = usual
        self.lab.steps = usual
        seen = trial.evidence if trial is not None else None
        traces = (seen.fed if fed else seen.ops) if seen is not None else None
        culprit = first_culprit(*traces) if traces is not None else None
        if seen is None or traces is None or culprit is None:
            return False
        self.findings.append(op_finding(culprit, seen.first, len(traces[0]), where))
        later = "with it held still the difference comes later"
        self.findings += [finding_of(candidate, later, confirmed=False) for candidate in kept]
        return True

    def _unexplained(self, kept: list[Candidate], rest: list[Candidate]) -> None:
        """Say what is known, as what it is."""
        later = "with it held still the difference comes later, and does not vanish"
        self.findings += [finding_of(candidate, later, confirmed=False) for candidate in kept]
        for candidate in [c for c in rest if c.key() not in self._tried and c.rank >= _WORTH_A_TRIAL][:2]:
            untried = (
                f"not tried: {candidate.shown}" if candidate.holdable else "no experiment can hold it still"
            )
            self.findings.append(finding_of(candidate, untried, confirmed=False))
        tried = (
            "nothing that was tried makes the twins repeat" if self.lab.trials else "there was nothing to try"
        )
        self.notes.append(f"the cause is not explained: {tried}")


def _computed(evidence: Evidence) -> bool:
    """What went into the step was equal: what differs was computed."""
    return evidence.first.step > 0 and PHASES.index(evidence.first.phase) > _FED


def _fed(evidence: Evidence) -> bool:
    return evidence.first.step > 0 and PHASES.index(evidence.first.phase) == _FED
