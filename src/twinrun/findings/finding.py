"""The finding: one type for the results of source audits, pipeline audits and diagnoses."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

# Codes of causes that agree by luck now and then: races, and the order of a small set.
RACING = frozenset({"TW202", "TW203", "TW204", "TW205", "TW301", "TW401", "TW402", "TW403"})


def spelled(file: str, line: int | None, cell: int | None = None) -> str:
    """A place as people write it."""
    if line is None:
        return file
    return f"{file}:{line}" if cell is None else f"{file}, cell {cell}, line {line}"


@dataclass(frozen=True)
class SourceLine:
    number: int
    text: str


@dataclass(frozen=True)
class Finding:
    """A code of the catalogue, the place to blame, the evidence, and what to write instead. `source` is what stands around
    the place, where the result was made: nobody who shows it later opens the file. In a notebook `line` is a line of the
    cell, once a result is made of it, and `file_line` that of the file."""

    code: str
    name: str
    message: str
    file: str | None = None
    line: int | None = None
    confirmed: bool = False
    evidence: tuple[str, ...] = ()
    fix: str | None = None
    source: tuple[SourceLine, ...] = field(default=(), compare=False)
    cell: int | None = None
    file_line: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "evidence": list(self.evidence),
            "source": [asdict(line) for line in self.source],
        }

    @property
    def kind(self) -> str:
        """What it is called where it is shown: confirmed by an experiment, or not."""
        return "error" if self.confirmed else "likely"

    @property
    def place(self) -> str | None:
        """`train.py:12`, or the cell and line of a notebook."""
        return None if self.file is None else spelled(self.file, self.line, self.cell)
