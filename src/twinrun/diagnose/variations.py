"""When varied twins differ: which of the variations is guilty, and which line makes it matter."""

from __future__ import annotations

from dataclasses import replace

from twinrun.diagnose.experiments import Laboratory, Trial
from twinrun.diagnose.suspects import blame_op
from twinrun.diagnose.wording import finding_of
from twinrun.findings.finding import Finding
from twinrun.protocol import Evidence, Suspect
from twinrun.protocol.registry import variations

_MOST_LINES = 4  # that are tried one by one


def blame_variations(
    lab: Laboratory, names: tuple[str, ...], evidence: Evidence
) -> tuple[list[Finding], list[str]] | None:
    """None when the twins differ with nothing varied as well."""
    plain = lab.vary((), "nothing varied")
    if plain is not None and not plain.repeats:
        return None
    findings: list[Finding] = []
    for name in names:
        trial = lab.vary((name,), f"only {name} varied") if len(names) > 1 else None
        if trial is not None and trial.repeats:
            continue
        proved = plain is not None and (trial is not None or len(names) == 1)
        proof = f"with only {name} varied the twins differ, with nothing varied they repeat"
        findings.append(finding_of(_suspect(lab, name, trial, evidence), proof, confirmed=proved))
    notes = [] if findings else ["none of the variations alone makes the twins differ; together they do"]
    return findings, notes


def _suspect(lab: Laboratory, name: str, trial: Trial | None, evidence: Evidence) -> Suspect:
    seen = trial.evidence if trial is not None and trial.evidence is not None else evidence
    source, variation = variations()[name]
    suspect = Suspect(source.name, variation.code, variation.message)
    if variation.traces_ops:
        found = _op_that_differs(lab, name, seen)
    else:
        found = _guilty(lab, name, list(source.reached_by(name, seen)))
    if found is None:
        return suspect
    return replace(suspect, file=found.file, line=found.line, notes=found.notes)


def _guilty(lab: Laboratory, name: str, lines: list[Suspect]) -> Suspect | None:
    """Of several lines that a variation reaches, the one that alone, frozen, makes the twins repeat."""
    for line in lines[:_MOST_LINES] if len(lines) > 1 else ():
        if not line.testable:
            continue
        trial = lab.vary((name,), line.experiment, freeze=line.freeze)
        if trial is not None and trial.repeats:
            return line
    return lines[0] if lines else None


def _op_that_differs(lab: Laboratory, name: str, seen: Evidence) -> Suspect | None:
    before, lab.steps = lab.steps, seen.first.step
    trial = lab.vary((name,), f"every op of the step compared, {name} varied", tracing="step")
    lab.steps = before
    return blame_op(trial.evidence, pipeline=False) if trial is not None and trial.evidence else None
