"""A few lines of the user's source around the place that a finding blames, fit to be shown to others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from twinrun.masking import mask

_AROUND = 2
_LARGEST = 4 << 20


@dataclass(frozen=True)
class SourceLine:
    number: int
    text: str
    blamed: bool


def excerpt(file: str | None, line: int | None) -> tuple[SourceLine, ...]:
    """Empty when there is no such Python source here any more. A saved result may come from anybody: only
    Python source is opened, and what looks like a credential is masked."""
    if file is None or line is None or not file.endswith(".py"):
        return ()
    try:
        path = Path(file)
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return ()
        lines = path.read_text("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return ()
    if not 1 <= line <= len(lines):
        return ()
    shown = range(max(1, line - _AROUND), min(len(lines), line + _AROUND) + 1)
    return tuple(SourceLine(number, mask(lines[number - 1]), number == line) for number in shown)
