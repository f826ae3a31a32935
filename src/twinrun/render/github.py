"""GitHub annotations: one workflow command for each finding, at its file and line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from twinrun.findings.finding import Finding
from twinrun.render.text import printable


def as_github(findings: Sequence[Finding]) -> str:
    return "".join(_line(finding) + "\n" for finding in findings)


def _line(finding: Finding) -> str:
    """An error where an experiment confirmed the cause, a warning where it is a suspicion."""
    kind = "error" if finding.confirmed else "warning"
    place = [f"title={escaped_property(f'{finding.code} {finding.name}')}"]
    if finding.file is not None:
        place.append(f"file={escaped_property(_relative(finding.file))}")
        if finding.line is not None:
            place.append(f"line={finding.line}")
    text = "\n".join([finding.message, *finding.evidence, *([f"fix: {finding.fix}"] if finding.fix else [])])
    return f"::{kind} {','.join(place)}::{escaped(text)}"


def _relative(file: str) -> str:
    try:
        return Path(file).relative_to(Path.cwd()).as_posix() if Path(file).is_absolute() else file
    except ValueError:
        return file


def escaped(text: str) -> str:
    """A command is one line: whatever would end it is written out."""
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escaped_property(text: str) -> str:
    """A property also ends at a comma or colon."""
    return escaped(text).replace(":", "%3A").replace(",", "%2C")
