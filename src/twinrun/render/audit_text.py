"""The answer of `twinrun audit` on a terminal: each finding, then how many there are and what was read."""

from __future__ import annotations

from twinrun.render.text import finding_lines, printable
from twinrun.source_audit.audit_result import UNDECIDED, AuditResult


def as_text(result: AuditResult, *, quiet: bool = False) -> str:
    lines: list[str] = []
    if not quiet:
        for finding in result.findings:
            lines += [*finding_lines(finding), ""]
        for problem in result.problems:
            lines.append(f"not judged: {printable(str(problem))}")
        notes = [note for note in result.notes if result.verdict != UNDECIDED or note != result.reason]
        lines += [f"note: {printable(note)}" for note in notes]
        for finding, reason in result.silenced:
            lines.append(f"silenced: {finding.code} at {printable(finding.place or '')}: {printable(reason)}")
    lines.append(_headline(result))
    return "\n".join(lines) + "\n"


def _headline(result: AuditResult) -> str:
    if result.verdict == UNDECIDED:
        return f"undecided: {printable(result.reason or '')}"
    count = len(result.findings)
    found = "no findings" if not count else f"{count} finding{'s' if count > 1 else ''}"
    read = len(result.files)
    return f"{found} in {read} file{'s' if read != 1 else ''} read"
