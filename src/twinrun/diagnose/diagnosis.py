"""A check, and after `diverges` the diagnosis: what is to blame, confirmed by experiment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from twinrun.diagnose.experiments import MARGIN, Laboratory
from twinrun.diagnose.search import Search
from twinrun.diagnose.suspects import suspects
from twinrun.diagnose.variations import blame_variations
from twinrun.findings.finding import Finding
from twinrun.launch.check import Observed, observe_check
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.program import Program
from twinrun.protocol import Evidence, Stress, Vary
from twinrun.protocol.evidence import Code
from twinrun.protocol.intervention import without
from twinrun.result import DIVERGES, CheckResult, Conditions
from twinrun.source_audit.program_files import find_script
from twinrun.source_audit.program_source import ProgramSource

BUDGET = 120.0


def check_and_diagnose(
    options: CheckOptions, screen: Screen | None = None, budget: float | None = None
) -> CheckResult:
    screen = screen or Screen()
    try:
        observed = observe_check(options, screen)
        result = observed.result
        if result.verdict != DIVERGES:
            return result
        evidence = observed.evidence(_code_of(options.program, observed))
        if evidence is None:
            return result
        # What differed only one after the other, or in a stress run, is looked for under the same conditions.
        options = _under(options, result.conditions)
        place = Path(result.recordings[0]).parent if result.recordings else Path()
        plain = replace(options, runs=2, detail=False, folder=None, experiment=True)
        steps = evidence.first.step + MARGIN
        lab = Laboratory(plain, screen, budget or BUDGET, place / "experiments", evidence.code, steps)
        lab.whole = bool(evidence.first.process)  # steps are counted by each process for itself
        return _diagnose(lab, result, evidence)
    finally:
        screen.close()


def _code_of(program: Program, observed: Observed) -> Code:
    """The program's own source, and the files that its events name."""
    files = {event.file for facts in observed.facts for event in facts.events}
    script = find_script(program.target, module=program.module)
    return ProgramSource(script, program.arguments, program.module, files)


def _diagnose(lab: Laboratory, result: CheckResult, evidence: Evidence) -> CheckResult:
    if lab.options.variations:
        blamed = blame_variations(lab, lab.options.variations, evidence)
        if blamed is not None:
            return _concluded(result, lab, *blamed)
        # They differ with nothing varied as well: the variation is not to blame, and not needed from here on.
        plain = without(Vary, lab.options.interventions)
        lab.options = replace(lab.options, interventions=plain)
        evidence = lab.trials[-1].evidence or evidence
    search = Search(lab, suspects)
    search.explain(evidence)
    return _concluded(result, lab, search.findings, search.notes)


def _under(options: CheckOptions, conditions: Conditions) -> CheckOptions:
    added = [Vary(name) for name in conditions.varied if name not in options.variations]
    stress = [Stress()] if conditions.stress and not options.stressed else []
    return replace(
        options,
        sequential=options.sequential or conditions.sequential,
        interventions=(*options.interventions, *added, *stress),
    )


def _concluded(
    result: CheckResult, lab: Laboratory, findings: list[Finding], notes: list[str]
) -> CheckResult:
    notes = [*notes, *dict.fromkeys(lab.notes)]
    if lab.untried:
        untried = "; ".join(dict.fromkeys(lab.untried))
        notes = [*notes, f"the time for the diagnosis was spent; not tried: {untried}"]
    known = {(finding.code, finding.file, finding.line) for finding in findings}
    noticed = [other for other in result.findings if (other.code, other.file, other.line) not in known]
    return result.replace(
        findings=(*findings, *noticed),
        experiments=tuple(trial.as_experiment() for trial in lab.trials),
        notes=(*result.notes, *notes),
    )
