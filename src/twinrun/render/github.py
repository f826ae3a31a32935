"""GitHub annotations: one workflow command for each finding, shown at its line in the change."""

from __future__ import annotations

from collections.abc import Sequence

from twinrun.findings.finding import Finding


def as_github(findings: Sequence[Finding]) -> str:
    """One line for each finding; what a user or a file name holds cannot end it or start another."""
    return "".join(_command(finding) for finding in findings)


def _command(finding: Finding) -> str:
    kind = "error" if finding.confirmed else "warning"
    where = [f"title={escaped_property(f'{finding.code} {finding.name}')}"]
    if finding.file is not None:
        where.insert(0, f"file={escaped_property(finding.file)}")
        if (line := finding.file_line or finding.line) is not None and line >= 1:
            where.insert(1, f"line={line}")
    return f"::{kind} {','.join(where)}::{escaped(whole_text(finding))}\n"


def whole_text(finding: Finding) -> str:
    """All that a finding has to say, for formats that have one text for it."""
    fix = [f"fix: {finding.fix}"] if finding.fix else []
    cell = [f"cell {finding.cell}, line {finding.line}"] if finding.cell is not None else []
    return "\n".join([finding.message, *cell, *finding.evidence, *fix])


def escaped(text: str) -> str:
    """Escaped as workflow commands want it; other control characters are dropped."""
    kept = "".join(char for char in text if char in "\r\n\t" or char.isprintable())
    return kept.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escaped_property(text: str) -> str:
    return escaped(text).replace(":", "%3A").replace(",", "%2C")
