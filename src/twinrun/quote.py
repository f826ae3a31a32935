"""A few lines of the user's source around the place that a finding blames, put into the finding when a result is made.
A view of a result opens no file: one from elsewhere could name any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from twinrun import untrusted
from twinrun.findings.finding import Finding, SourceLine
from twinrun.masking import mask

_AROUND = 2
_LARGEST = 4 << 20
_LONGEST = 400  # characters of a line


def quoted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings with the lines that they blame. What looks like a credential is masked in them."""
    return tuple(
        each if each.source else replace(each, source=_lines(each.file, each.line)) for each in findings
    )


def _lines(file: str | None, line: int | None) -> tuple[SourceLine, ...]:
    """Empty when there is no such Python source here."""
    if file is None or line is None or not file.endswith(".py"):
        return ()
    try:
        lines = untrusted.read_bytes(Path(file), _LARGEST).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return ()
    if not 1 <= line <= len(lines):
        return ()
    shown = range(max(1, line - _AROUND), min(len(lines), line + _AROUND) + 1)
    return tuple(SourceLine(number, mask(lines[number - 1][:_LONGEST])) for number in shown)
