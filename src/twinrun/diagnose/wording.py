"""Findings in words: what the cause is, what shows it, and the user's own line rewritten."""

from __future__ import annotations

import contextlib
from pathlib import Path

from twinrun.comparison.frames import Difference
from twinrun.diagnose.ops import Culprit
from twinrun.diagnose.places import relative
from twinrun.diagnose.suspect import Candidate
from twinrun.findings.catalogue import finding, lookup
from twinrun.findings.finding import Finding


def finding_of(candidate: Candidate, shown: str, *, confirmed: bool) -> Finding:
    message = candidate.message if confirmed else f"likely: {candidate.message}"
    notes = [f"note: {note}" for note in candidate.notes]
    return finding(
        candidate.code,
        message,
        file=relative(candidate.file) if candidate.file else None,
        line=candidate.line,
        confirmed=confirmed,
        evidence=[*notes, shown],
        fix=candidate.advice or fix_for(candidate.code, candidate.file, candidate.line),
    )


def op_finding(culprit: Culprit, difference: Difference, ops: int, of: str = "the step") -> Finding:
    where = f" of layer {culprit.layer}" if culprit.layer else ""
    role = f", the gradient of {culprit.forward}" if culprit.gradient and culprit.forward else ""
    measured = difference.distance
    evidence = [
        f"shown: of the {ops} ops of {of} up to step {difference.step}, run in both twins, it is the first whose inputs match bit for bit and whose output does not"
    ]
    if measured is not None and measured.max_abs is not None:
        ulp = f", {measured.max_ulp} ULP" if measured.max_ulp is not None else ""
        evidence.append(f"note: {difference.tensor} then differs by up to {measured.max_abs:.3g}{ulp}")
    return finding(
        "TW401",
        f"{culprit.op}{where}{role} gives different results for the same inputs",
        file=relative(culprit.file) if culprit.file else None,
        line=culprit.line,
        confirmed=True,
        evidence=evidence,
        fix=fix_for("TW401", culprit.file, culprit.line),
    )


def fix_for(code: str, file: str | None, line: int | None) -> str:
    """The user's line and the rewritten line where that can be made, else the catalogue's advice."""
    if file is not None and line is not None:
        with contextlib.suppress(ImportError, OSError, ValueError, SyntaxError):
            from twinrun.findings.fixes import propose

            source = Path(file).read_text()
            proposed = propose(code, file, line, source)
            if proposed is not None:
                note = f"{proposed.note}\n" if proposed.note else ""
                return f"{note}{proposed.changes()}"
    return lookup(code).advice
