"""A few lines of the user's source around the place that a finding blames, put into the finding when a result is made.
A view of a result opens no file: one from elsewhere could name any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from twinrun import untrusted
from twinrun.errors import BadNotebook
from twinrun.findings.finding import Finding, SourceLine
from twinrun.masking import mask
from twinrun.notebooks import is_notebook
from twinrun.notebooks.notebook import read_notebook
from twinrun.notebooks.places import placed

_AROUND = 2
_LARGEST = 4 << 20
_LONGEST = 400  # characters of a line


def quoted(findings: Iterable[Finding], patched: Mapping[str, str] | None = None) -> tuple[Finding, ...]:
    """The findings with the lines that they blame, in their cells where the file is a notebook. What looks like a
    credential is masked in them. `patched` is what the twins saw in place of some files."""
    found = placed(findings, patched)
    return tuple(each if each.source else replace(each, source=_around(each, patched)) for each in found)


def _around(finding: Finding, patched: Mapping[str, str] | None) -> tuple[SourceLine, ...]:
    """Empty when there is no such source here."""
    if finding.file is None or finding.line is None:
        return ()
    try:
        lines = _lines(Path(finding.file), finding.cell, patched or {})
    except (OSError, ValueError, BadNotebook):
        return ()
    if not 1 <= finding.line <= len(lines):
        return ()
    shown = range(max(1, finding.line - _AROUND), min(len(lines), finding.line + _AROUND) + 1)
    return tuple(SourceLine(number, mask(lines[number - 1][:_LONGEST])) for number in shown)


def _lines(path: Path, cell: int | None, patched: Mapping[str, str]) -> list[str]:
    """The lines of a Python file, or of a cell as it is written."""
    if is_notebook(path):
        cells = read_notebook(path, patched).cells
        return next((each.lines for each in cells if each.number == cell), [])
    if path.suffix != ".py":
        return []
    content = patched.get(str(path.resolve()))
    data = untrusted.read_bytes(path, _LARGEST) if content is None else content.encode()
    return data.decode("utf-8", "replace").splitlines()
