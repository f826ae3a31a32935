"""A check, and after `diverges` the diagnosis: who is to blame, shown by experiment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from twinrun.diagnose.evidence import Evidence, evidence_of
from twinrun.diagnose.experiments import MARGIN, Laboratory
from twinrun.diagnose.search import Search
from twinrun.diagnose.source import Source
from twinrun.diagnose.suspects import candidates
from twinrun.diagnose.variations import blame_variation
from twinrun.findings.finding import Finding
from twinrun.launch.check import run_check
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.vary import NO_VARIATION
from twinrun.result import DIVERGES, CheckResult

BUDGET = 120.0


def check_and_diagnose(
    options: CheckOptions, screen: Screen | None = None, budget: float | None = None
) -> CheckResult:
    screen = screen or Screen()
    try:
        result = run_check(options, KeptOpen(screen))
        evidence = evidence_of(result) if result.verdict == DIVERGES else None
        if evidence is None:
            return result
        return diagnose(options, result, evidence, screen, budget or BUDGET)
    finally:
        screen.close()


def diagnose(
    options: CheckOptions, result: CheckResult, evidence: Evidence, screen: Screen, budget: float
) -> CheckResult:
    # What showed only one after the other, or when it was provoked, is looked for in the same manner.
    options = replace(options, **result.manner)
    lab = _laboratory(options, result, evidence, screen, budget)
    source = Source(
        options.program, {row["file"] for pair in evidence.rows for row in pair if row is not None}
    )
    if options.variation.names:
        blamed = blame_variation(lab, options.variation, evidence, source)
        if blamed is not None:
            return _concluded(result, lab, *blamed)
        # They differ with nothing varied as well: the variation is not to blame, and not needed from here on.
        lab.options = replace(lab.options, variation=NO_VARIATION)
        evidence = lab.trials[-1].evidence or evidence
    search = Search(lab, lambda seen: candidates(seen, source))
    search.explain(evidence)
    return _concluded(result, lab, search.findings, search.notes)


def _laboratory(
    options: CheckOptions, result: CheckResult, evidence: Evidence, screen: Screen, budget: float
) -> Laboratory:
    folder = Path(result.recordings[0]).parent / "experiments" if result.recordings else Path("experiments")
    plain = replace(options, runs=2, detail=False, folder=None, inquiry=True)
    return Laboratory(plain, screen, budget, folder, steps=evidence.first.step + MARGIN)


def _concluded(
    result: CheckResult, lab: Laboratory, findings: list[Finding], notes: list[str]
) -> CheckResult:
    if lab.untried:
        untried = "; ".join(dict.fromkeys(lab.untried))
        notes = [*notes, f"the time for the diagnosis was spent; not tried: {untried}"]
    known = {(finding.code, finding.file, finding.line) for finding in findings}
    noticed = [other for other in result.findings if (other.code, other.file, other.line) not in known]
    return replace(
        result,
        findings=(*findings, *noticed),
        experiments=lab.as_json(),
        notes=(*result.notes, *notes),
    )


class KeptOpen(Screen):
    """Somebody else's screen, used and not closed: the diagnosis goes on with it."""

    def __init__(self, screen: Screen) -> None:
        self.twins = screen.twins  # type: ignore[method-assign]
        self.tick = screen.tick  # type: ignore[method-assign]
        self.say = screen.say  # type: ignore[method-assign]
