"""The answer of `twinrun audit` on a terminal: each finding, then how many there are and what was read."""

from __future__ import annotations

from twinrun.counted import counted
from twinrun.render.text import finding_lines
from twinrun.source_audit.audit_result import UNDECIDED, AuditResult
from twinrun.terminal import Lines


def as_lines(result: AuditResult, *, quiet: bool = False, verbose: bool = False) -> Lines:
    if not quiet:
        for finding in result.findings:
            yield from (*finding_lines(finding, verbose=verbose), "")
        for problem in result.problems:
            yield f"not judged: {problem}"
        notes = [note for note in result.notes if result.verdict != UNDECIDED or note != result.reason]
        yield from (f"note: {note}" for note in notes)
        for finding, reason in result.silenced:
            yield f"silenced: {finding.code} at {finding.place or ''}: {reason}"
    yield _headline(result)


def _headline(result: AuditResult) -> str:
    if result.verdict == UNDECIDED:
        return f"undecided: {result.reason or ''}"
    count = len(result.findings)
    found = "no findings" if not count else f"{counted(count, 'finding')}"
    read = len(result.files)
    return f"{found} in {counted(read, 'file')} read"
