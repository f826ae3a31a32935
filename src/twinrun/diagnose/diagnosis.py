"""The diagnosis, as an engineer would go about it: hold the likeliest source still and look whether the twins repeat;
if the difference only moves to later, keep that and look again; if nothing alone helps, hold everything still, and
then let go of one thing after the other until only what is needed is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from twinrun.diagnose.candidate import Candidate
from twinrun.diagnose.candidates import candidates
from twinrun.diagnose.evidence import Evidence, evidence_of
from twinrun.diagnose.experiments import MARGIN, Laboratory, Trial
from twinrun.diagnose.ops import Culprit, first_culprit
from twinrun.diagnose.source import Source
from twinrun.diagnose.wording import finding_of, op_finding
from twinrun.findings.finding import Finding
from twinrun.launch.check import CheckOptions, Screen, run_check
from twinrun.recording.frame import PHASES
from twinrun.result import DIVERGES, CheckResult

BUDGET = 120.0
_COMPUTED = PHASES.index("batch")  # phases after this one are computed, not fed
_NARROWED = ("numpy", "python-random", "generator", "entropy", "clock", "tf-random")


def check_and_diagnose(options: CheckOptions, screen: Screen | None = None, budget: float | None = None) -> CheckResult:
    """A check; and after `diverges`, the cause."""
    screen = screen or Screen()
    try:
        result = run_check(options, _KeptOpen(screen))
        evidence = evidence_of(result) if result.verdict == DIVERGES else None
        if evidence is None:
            return result
        return _Diagnosis(options, screen, budget or BUDGET, result, evidence).conclude()
    finally:
        screen.close()


@dataclass
class _Diagnosis:
    options: CheckOptions
    screen: Screen
    budget: float
    result: CheckResult
    evidence: Evidence
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        folder = Path(self.result.recordings[0]).parent / "experiments" if self.result.recordings else Path("experiments")
        plain = replace(self.options, runs=2, detail=False, folder=None)
        step = self.evidence.first.step
        self.lab = Laboratory(plain, self.screen, self.budget, folder, steps=step + MARGIN)
        files = {row["file"] for pair in self.evidence.rows for row in pair if row is not None}
        self.source = Source(self.options.program, files)

    def conclude(self) -> CheckResult:
        if self.options.variation.names:
            from twinrun.diagnose.variations import blame_variation

            blamed = blame_variation(self.lab, self.options.variation, self.evidence, self.source)
            if blamed is not None:
                self.findings, self.notes = blamed
                return self._with_findings()
            # They differ with nothing varied as well: the variation is not to blame, and not needed from here on.
            self.lab.options = replace(self.lab.options, variation=self.lab.options.variation.__class__())
            last = self.lab.trials[-1].evidence if self.lab.trials else None
            self.evidence = last or self.evidence
        self.explain()
        return self._with_findings()

    def _with_findings(self) -> CheckResult:
        notes = list(self.result.notes) + self.notes
        if self.lab.untried:
            notes.append("the budget was spent; not tried: " + "; ".join(dict.fromkeys(self.lab.untried)))
        known = {(finding.code, finding.file, finding.line) for finding in self.findings}
        noticed = [f for f in self.result.findings if (f.code, f.file, f.line) not in known]
        return replace(self.result, findings=(*self.findings, *noticed), experiments=self.lab.as_json(), notes=tuple(notes))

    # the search

    def explain(self) -> None:
        evidence = self.evidence
        kept: list[Candidate] = []
        for _ in range(6):
            found = [c for c in candidates(evidence, self.source) if c.key() not in {k.key() for k in kept}]
            if self._computed_without_suspect(evidence, found) and self._blame_op(kept, evidence):
                return
            if not found:
                break
            trial = self.lab.hold_still([*kept, found[0]])
            if trial is None:
                break
            if trial.repeats:
                self._confirm([*kept, found[0]], trial)
                return
            if trial.later_than(evidence):
                kept.append(found[0])
                evidence = trial.evidence or evidence
                continue
            together = self.lab.hold_still([*kept, *found], what="everything suspected held still") if len(found) > 1 else None
            if together is not None and together.repeats:
                self._confirm(self._needed([*kept, *found]), together)
                return
            if together is not None and together.later_than(evidence):
                kept += found
                evidence = together.evidence or evidence
                continue
            if self._computed(evidence) and self._blame_op(kept, evidence):
                return
            break
        self._unexplained(kept, candidates(evidence, self.source))

    def _computed(self, evidence: Evidence) -> bool:
        return evidence.first.step > 0 and PHASES.index(evidence.first.phase) > _COMPUTED

    def _computed_without_suspect(self, evidence: Evidence, found: list[Candidate]) -> bool:
        """What went in was equal, and no source that differs is likely to have come in between."""
        return self._computed(evidence) and (not found or found[0].rank < 7)

    def _needed(self, held: list[Candidate]) -> list[Candidate]:
        """Let go of one after the other, the least likely first; keep those without which the twins differ again."""
        needed = list(held)
        for candidate in sorted(held, key=lambda c: c.rank):
            if len(needed) == 1:
                break
            rest = [c for c in needed if c is not candidate]
            trial = self.lab.hold_still(rest, what=f"all of it but {candidate.message}")
            if trial is None:
                break
            if trial.repeats:
                needed = rest
        return sorted(needed, key=lambda c: -c.rank)

    def _confirm(self, causes: Sequence[Candidate], trial: Trial) -> None:
        for cause in causes:
            narrowed = self._narrow(cause, [c for c in causes if c is not cause])
            self.findings.append(finding_of(narrowed, self._shown(trial, causes, narrowed), confirmed=True))

    def _narrow(self, cause: Candidate, others: list[Candidate]) -> Candidate:
        """Of several lines that share a stream, the one that alone is enough, where there is one."""
        if len(cause.sites) < 2 or cause.kind not in _NARROWED:
            return cause
        for site in cause.sites[:4]:
            trial = self.lab.hold_still([*others, cause.at(site)], what=f"{cause.shown}, at line {site[2]} only")
            if trial is not None and trial.repeats:
                return cause.at(site)
        return cause

    def _shown(self, trial: Trial, causes: Sequence[Candidate], cause: Candidate) -> str:
        count = len(self.lab.trials)
        seconds = sum(t.seconds for t in self.lab.trials)
        steps = f"for {trial.steps} steps" if trial.steps else "to the end"
        others = ", and the other causes too," if len(causes) > 1 else ""
        return f"shown: {cause.shown}{others} the twins repeat {steps} ({count} experiment{'s' if count > 1 else ''}, {seconds:.0f} s)"

    # the op

    def _blame_op(self, kept: list[Candidate], evidence: Evidence) -> bool:
        """Run the step op by op in both twins, and find the first op whose inputs match and whose outputs do not."""
        before, self.lab.steps = self.lab.steps, evidence.first.step
        trial = None
        for _ in range(2):  # a race may need a second chance to show
            trial = self.lab.hold_still(kept, what="every op of the step compared between the twins", trace_ops=True)
            if trial is None or trial.evidence is None or not trial.repeats:
                break
            self.lab.steps = before
        self.lab.steps = before
        if trial is None or trial.evidence is None or trial.evidence.ops is None:
            return False
        culprit: Culprit | None = first_culprit(*trial.evidence.ops)
        if culprit is None:
            return False
        self.findings.extend(finding_of(c, "the difference came later with it held still", confirmed=False) for c in kept)
        self.findings.insert(0, op_finding(culprit, trial.evidence.first, len(trial.evidence.ops[0])))
        return True

    def _unexplained(self, kept: list[Candidate], rest: list[Candidate]) -> None:
        for candidate in kept:
            self.findings.append(finding_of(candidate, "with it held still the difference comes later, and does not vanish", confirmed=False))
        tried = bool(self.lab.trials)
        if not kept and rest and not tried:
            self.findings.append(finding_of(rest[0], f"not tried for want of time: {rest[0].shown}", confirmed=False))
        self.notes.append("the cause is not explained: " + ("nothing that was tried makes the twins repeat" if tried else "there was nothing to try"))


class _KeptOpen(Screen):
    """The check's own screen, without closing it: the diagnosis goes on with it."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.twins = screen.twins  # type: ignore[method-assign]
        self.tick = screen.tick  # type: ignore[method-assign]
        self.say = screen.say  # type: ignore[method-assign]
