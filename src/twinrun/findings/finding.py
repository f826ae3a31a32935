"""The finding: one type for the results of source audits, pipeline audits and diagnoses."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

# Codes of causes that agree by luck now and then: races, and the order of a small set.
RACING = frozenset({"TW202", "TW203", "TW204", "TW205", "TW301", "TW401", "TW402", "TW403"})


@dataclass(frozen=True)
class SourceLine:
    number: int
    text: str


@dataclass(frozen=True)
class Finding:
    """A code of the catalogue, the place to blame, the evidence, and what to write instead. `source` is what stands around
    the place, where the result was made: nobody who shows it later opens the file."""

    code: str
    name: str
    message: str
    file: str | None = None
    line: int | None = None
    confirmed: bool = False
    evidence: tuple[str, ...] = ()
    fix: str | None = None
    source: tuple[SourceLine, ...] = field(default=(), compare=False)

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
        if self.file is None:
            return None
        return self.file if self.line is None else f"{self.file}:{self.line}"
