"""The result of a check: one object, of which every output is a view. It can be saved and rendered again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from twinrun.compare.frames import Difference
from twinrun.findings.finding import Finding

SCHEMA = "twinrun/check/1"
REPEATS, DIVERGES, UNDECIDED = "repeats", "diverges", "undecided"
EXIT = {REPEATS: 0, DIVERGES: 1, UNDECIDED: 2}


@dataclass(frozen=True)
class CheckResult:
    program: str
    verdict: str
    reason: str | None = None
    contract: str = "bitwise"
    runs: int = 2
    steps_compared: int = 0
    first_difference: Difference | None = None
    bits_differ_from: Difference | None = None
    growth: tuple[dict[str, Any], ...] = ()
    also_differing: tuple[str, ...] = ()
    streams: tuple[dict[str, Any], ...] = ()  # random streams whose state differed, which alone is no divergence
    findings: tuple[Finding, ...] = ()
    experiments: tuple[dict[str, Any], ...] = ()
    controls: dict[str, Any] = field(default_factory=dict)
    varied: tuple[str, ...] = ()
    environment: dict[str, Any] = field(default_factory=dict)
    timing: dict[str, Any] = field(default_factory=dict)
    recordings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    output_tail: str | None = None

    @property
    def exit_code(self) -> int:
        return EXIT[self.verdict]

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "program": self.program,
            "verdict": self.verdict,
            "reason": self.reason,
            "contract": self.contract,
            "runs": self.runs,
            "steps_compared": self.steps_compared,
            "first_difference": self.first_difference.as_json() if self.first_difference else None,
            "bits_differ_from": self.bits_differ_from.as_json() if self.bits_differ_from else None,
            "growth": list(self.growth),
            "also_differing": list(self.also_differing),
            "streams": list(self.streams),
            "findings": [finding.as_json() for finding in self.findings],
            "experiments": list(self.experiments),
            "controls": self.controls,
            "varied": list(self.varied),
            "environment": self.environment,
            "timing": self.timing,
            "recordings": list(self.recordings),
            "notes": list(self.notes),
            "output_tail": self.output_tail,
        }
