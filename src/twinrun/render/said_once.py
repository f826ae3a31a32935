"""A result keeps what was tried with each finding, among its experiments and in its notes. A reader is told it once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from twinrun.findings.finding import Finding
from twinrun.result import CheckResult, Experiment

_NOTE, _TRIED = "note: ", "tried: "


def evidence_beside(
    finding: Finding, experiments: Sequence[Experiment], *, verbose: bool = True
) -> tuple[str, ...]:
    """The evidence that is to be shown with a finding, where these experiments are shown too: whatever was tried is among
    them. Without `verbose` only the grounds for it."""
    lines = finding.evidence
    if not verbose:
        lines = tuple(line for line in lines if not line.startswith(_NOTE)) or lines[:1]
    return tuple(line for line in lines if not (experiments and line.startswith(_TRIED)))


def notes_beside(result: CheckResult, *, verbose: bool = True) -> Iterator[str]:
    """The notes of a result without what the evidence of its findings says, as far as that is shown."""
    said = {
        line.removeprefix(_NOTE)
        for finding in result.findings
        for line in evidence_beside(finding, (), verbose=verbose)
    }
    for note in result.notes:
        parts = [part for part in note.split("; ") if part not in said] if note not in said else []
        if parts:
            yield "; ".join(parts)
