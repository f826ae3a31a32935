"""A check, and after `diverges` the diagnosis: what is to blame, confirmed by experiment."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from twinrun.diagnose.devices import OnDevices
from twinrun.diagnose.experiments import FOREVER, MARGIN, Laboratory, Trial, command, on_one_device
from twinrun.diagnose.likely import likely_findings
from twinrun.diagnose.search import Search
from twinrun.diagnose.suspects import may_race, suspects
from twinrun.diagnose.variations import Varied
from twinrun.findings.finding import Finding
from twinrun.interrupt import Interrupted
from twinrun.launch.check import RESULT, check_folder, observe_check, save
from twinrun.launch.folders import Place
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.side_by_side import twins_at_once
from twinrun.notebooks.places import placed
from twinrun.protocol import Evidence, Stress, Suspect, Vary
from twinrun.protocol.evidence import Code
from twinrun.protocol.intervention import without
from twinrun.quote import quoted
from twinrun.result import DIVERGES, UNDECIDED, CheckResult, Conditions, Diagnosis
from twinrun.source_audit.program_files import find_script
from twinrun.source_audit.program_source import ProgramSource

BUDGET = 120.0
_ONLY_TOGETHER = "none of the variations alone makes the twins differ; together they do"


def check_and_diagnose(
    options: CheckOptions,
    screen: Screen | None = None,
    budget: float | None = None,
    saved_as: str | None = None,
) -> CheckResult:
    """`saved_as` is the file that the result will be written to, where it can be resumed from that as from our own."""
    screen = screen or Screen()
    try:
        with check_folder(options) as place:
            return _check_and_diagnose(options, place, screen, budget, saved_as)
    finally:
        screen.close()


def _check_and_diagnose(
    options: CheckOptions, place: Place, screen: Screen, budget: float | None, saved_as: str | None
) -> CheckResult:
    observed = observe_check(options, place, screen)
    result = observed.result
    if result.verdict != DIVERGES:
        return result
    screen.known(result)
    with _left(result, place.folder):
        files = {event.file for facts in observed.facts for event in facts.events}
        evidence = observed.evidence(_code_of(options, files))
        if evidence is None:
            return result
        before = Diagnosis(
            complete=False,
            command=command(options, diagnose=True),
            may_race=result.conditions.stress or may_race(evidence),
            noticed=result.findings,
            notes=result.notes,
            compared=evidence.compared,
        )
        lab = _laboratory(options, screen, budget, place.folder, result, evidence)
        return _diagnose(lab, result, evidence, before, saved_as, made_here=True)


def resume_diagnosis(
    options: CheckOptions,
    saved: CheckResult,
    screen: Screen | None = None,
    budget: float | None = None,
    saved_as: str | None = None,
) -> CheckResult:
    """Go on with the diagnosis of a saved result. Its experiments count as done; what could not be judged is worth
    another try. The places that it names are quoted no further: it may have been made elsewhere."""
    before, first = saved.diagnosis, saved.first_difference
    if before is None or before.complete or first is None:
        return saved.replace(notes=(*saved.notes, "nothing is left to try"))
    screen = screen or Screen()
    try:
        with check_folder(options) as place, _left(saved, place.folder):
            streams = tuple(row.stream for row in saved.streams)
            devices = tuple(each.device for each in saved.devices)
            code = _code_of(options, ())
            evidence = Evidence(
                first, (), streams, None, code, compared=before.compared, devices=devices, contract=saved.contract,
            )  # fmt: skip
            screen.known(saved)
            lab = _laboratory(options, screen, budget, place.folder, saved, evidence)
            judged = [each for each in saved.experiments if each.verdict != UNDECIDED]
            lab.trials = [Trial.saved(each, saved.program) for each in judged]
            return _diagnose(lab, saved, evidence, before, saved_as, made_here=False)
    finally:
        screen.close()


@contextmanager
def _left(result: CheckResult, folder: Path) -> Iterator[None]:
    """A diagnosis that is interrupted leaves what it knows; at the least, this."""
    try:
        yield
    except KeyboardInterrupt as stop:
        why = Interrupted.of(stop)
        found = why.results[0][1] if why.results else result.replace(notes=(*result.notes, _broken_off(why)))
        raise why.leaving(("", save(found.replace(reason_kind="interrupted"), folder))) from None


def _broken_off(why: Interrupted) -> str:
    return f"the diagnosis was {why}"


def _code_of(options: CheckOptions, files: Iterable[str]) -> Code:
    """The program's own source as the twins saw it, and the files that its events name."""
    program = options.program
    script = find_script(program.target, module=program.module)
    return ProgramSource(script, program.arguments, program.module, files, options.patched)


def _laboratory(
    options: CheckOptions,
    screen: Screen,
    budget: float | None,
    folder: Path,
    result: CheckResult,
    evidence: Evidence,
) -> Laboratory:
    # What differed only one after the other, or in a stress run, is looked for under the same conditions.
    plain = replace(_under(options, result.conditions), runs=2, detail=False, folder=None, experiment=True)
    return Laboratory(
        plain,
        screen,
        budget or BUDGET,
        folder / "experiments",
        evidence.code,
        steps=evidence.first.step + MARGIN,
        usual=result.timing.get("seconds", 0.0),
        at_once=twins_at_once() // 2,
        # Each process counts its steps for itself; workers take them together.
        whole=bool(evidence.first.process) and not options.workers,
    )


def _under(options: CheckOptions, conditions: Conditions) -> CheckOptions:
    added = [Vary(name) for name in conditions.varied if name not in options.variations]
    stress = [Stress()] if conditions.stress and not options.stressed else []
    return replace(
        options,
        sequential=options.sequential or conditions.sequential,
        carried=options.carried or conditions.carried,
        interventions=(*options.interventions, *added, *stress),
    )


def _diagnose(
    lab: Laboratory,
    result: CheckResult,
    evidence: Evidence,
    before: Diagnosis,
    saved_as: str | None,
    *,
    made_here: bool,
) -> CheckResult:
    found = _explained(lab, result, evidence, before, saved_as)
    if made_here:
        found = found.replace(findings=quoted(found.findings, lab.options.patched))
    if lab.interrupted is not None:
        raise lab.interrupted.leaving(("", found))
    return save(found, lab.folder.parent)


def _explained(
    lab: Laboratory, result: CheckResult, evidence: Evidence, before: Diagnosis, saved_as: str | None
) -> CheckResult:
    if len(set(lab.options.devices)) > 1:
        devices = OnDevices(lab)
        alone = devices.alone()
        if alone is None:
            found = devices.finding(evidence)
            return _concluded(result, lab, [found] if found is not None else [], [], before)
        evidence = alone.evidence or evidence
        before = _continued_on(lab, evidence.devices[0], before)
    names = lab.options.variations
    if names:
        varied = Varied(lab)
        guilty = varied.that_differ(names)
        if guilty is not None:
            notes = [] if guilty else [_ONLY_TOGETHER]
            return _concluded(result, lab, varied.findings(guilty, evidence), notes, before)
        # They differ with nothing varied as well. Whether the variation matters too is asked once they repeat.
        plain = without(Vary, lab.options.interventions)
        lab.options = replace(lab.options, interventions=plain)
        evidence = lab.trials[-1].evidence or evidence
    return _searched(lab, result, evidence, before, names, saved_as)


def _continued_on(lab: Laboratory, device: str, before: Diagnosis) -> Diagnosis:
    """From here on both twins of every experiment are on this device."""
    lab.options = replace(lab.options, interventions=on_one_device(lab.options.interventions, device))
    note = f"the twins differ with both on {device} as well: what follows was found there"
    return structs.replace(before, notes=(*before.notes, note))


def _searched(
    lab: Laboratory, result: CheckResult, evidence: Evidence, before: Diagnosis, names: tuple[str, ...],
    saved_as: str | None,
) -> CheckResult:  # fmt: skip
    """What freezing shows; `names` are the variations that the check was asked for, which may matter besides."""

    def known_or_found(seen: Evidence) -> list[Suspect]:
        """A saved result has the suspects, and not the events that led to them."""
        saved = list(before.suspects) if not seen.pairs else []
        return saved or suspects(seen)

    search = Search(
        lab, known_or_found, before.may_race, op=before.op, datasets=dict.fromkeys(before.datasets)
    )
    search.freeze_everything(evidence)
    varied = Varied(lab, tuple(search.frozen))
    guilty = varied.that_differ(names) if names and search.goal == FOREVER else None
    search.leave_out()
    search.confirm()
    hidden = varied.findings(guilty or {}, evidence, search.times)
    read = evidence.code.audited() if not search.explained else ()
    findings = [*search.findings, *hidden, *likely_findings(search, evidence, read)]
    if lab.untried:
        findings = _to_be_continued(findings, saved_as or str(lab.folder.parent / RESULT))
    known = structs.replace(
        before,
        suspects=tuple(search.suspected),
        may_race=search.may_race,
        op=search.op,
        datasets=tuple(search.datasets),
    )
    return _concluded(result, lab, findings, _notes(search), known)


def _to_be_continued(findings: list[Finding], saved_as: str) -> list[Finding]:
    """Add to unconfirmed findings how to run the experiments that may confirm them."""
    hint = f"to continue: twinrun check --resume-diagnosis {shlex.quote(saved_as)}"
    return [each if each.confirmed else replace(each, evidence=(*each.evidence, hint)) for each in findings]


def _notes(search: Search) -> list[str]:
    if search.findings or search.goal == FOREVER:
        more = "with everything suspected frozen the twins still differ: there is another cause"
        explained = search.goal == FOREVER or search.op is not None
        return search.notes if explained else [*search.notes, more]
    if search.lab.untried and not search.lab.trials:
        return search.notes
    tried = "no experiment made the twins repeat" if search.lab.trials else "there was nothing to try"
    return [*search.notes, f"no cause found: {tried}"]


def _concluded(
    result: CheckResult, lab: Laboratory, findings: list[Finding], notes: list[str], diagnosis: Diagnosis
) -> CheckResult:
    notes = [*diagnosis.notes, *notes, *dict.fromkeys(lab.notes)]
    if lab.untried:
        first, *more = dict.fromkeys(lab.untried)
        why = _broken_off(lab.interrupted) if lab.interrupted else "the time for the diagnosis ran out"
        notes.append(f"{why}; not tried: {first}" + (f", and {len(more)} more" if more else ""))
    found = placed(findings, lab.options.patched)
    known = {(finding.code, finding.place) for finding in found}
    codes = {finding.code for finding in found}
    noticed = [
        each
        for each in diagnosis.noticed
        if (each.code, each.place) not in known and (each.file or each.code not in codes)
    ]
    reported = result.replace(
        findings=(*found, *noticed),
        experiments=tuple(trial.as_experiment() for trial in lab.trials),
        diagnosis=structs.replace(diagnosis, complete=not lab.untried),
        notes=tuple(notes),
    )
    return lab.options.program.shown(reported, lab.options.patched)
