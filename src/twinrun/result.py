"""The result of a check: one object, of which every output is a view. It can be saved and rendered again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from twinrun.comparison.frames import Difference
from twinrun.comparison.tensors import Distance
from twinrun.errors import BadResult
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
    streams: tuple[
        dict[str, Any], ...
    ] = ()  # random streams whose state differed, which alone is no divergence
    findings: tuple[Finding, ...] = ()
    experiments: tuple[dict[str, Any], ...] = ()
    controls: dict[str, Any] = field(default_factory=dict)
    varied: tuple[str, ...] = ()
    environment: dict[str, Any] = field(default_factory=dict)
    timing: dict[str, Any] = field(default_factory=dict)
    recordings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    output_tail: str | None = None
    manner: dict[str, Any] = field(
        default_factory=dict
    )  # options with which it came out, beside those asked for
    ledgers: tuple[list[dict[str, Any]], ...] = field(
        default=(), repr=False
    )  # of each twin, for the diagnosis

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

    @classmethod
    def from_json(cls, document: Any, where: str | None = None) -> CheckResult:
        """Reads what as_json wrote. Everything is checked: a saved result may come from anybody."""
        schema = document.get("schema") if isinstance(document, dict) else None
        if schema != SCHEMA:
            raise BadResult(*_unreadable(schema), where=where)
        try:
            if document["verdict"] not in EXIT:
                raise ValueError(f"the verdict {document['verdict']!r} is none")
            return cls(
                program=str(document["program"]),
                verdict=document["verdict"],
                reason=_text(document.get("reason")),
                contract=str(document["contract"]),
                runs=int(document["runs"]),
                steps_compared=int(document["steps_compared"]),
                first_difference=_difference(document.get("first_difference")),
                bits_differ_from=_difference(document.get("bits_differ_from")),
                growth=_dicts(document.get("growth")),
                also_differing=_texts(document.get("also_differing")),
                streams=_dicts(document.get("streams")),
                findings=read_findings(document),
                experiments=_dicts(document.get("experiments")),
                controls=dict(document.get("controls") or {}),
                varied=_texts(document.get("varied")),
                environment=dict(document.get("environment") or {}),
                timing=dict(document.get("timing") or {}),
                recordings=_texts(document.get("recordings")),
                notes=_texts(document.get("notes")),
                output_tail=_text(document.get("output_tail")),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise BadResult(f"this result is damaged: {problem!r}", where=where) from None


def read_findings(document: dict[str, Any]) -> tuple[Finding, ...]:
    """The findings of any verb's document."""
    return tuple(
        Finding(
            code=str(item["code"]),
            name=str(item["name"]),
            message=str(item["message"]),
            file=_text(item.get("file")),
            line=None if item.get("line") is None else int(item["line"]),
            confirmed=bool(item.get("confirmed")),
            evidence=_texts(item.get("evidence")),
            fix=_text(item.get("fix")),
        )
        for item in document.get("findings") or ()
    )


def _unreadable(schema: object) -> tuple[str, str]:
    name, _, version = str(schema).rpartition("/")
    if name == SCHEMA.rpartition("/")[0] and version.isdigit():
        newer = f"this result was written by a newer Twinrun ({schema}, this one reads {SCHEMA})"
        return newer, "upgrade twinrun to read it"
    if name.startswith("twinrun/"):
        return (
            f"this came from twinrun {name.removeprefix('twinrun/')}, it is not the result of a check",
            _HINT,
        )
    return "this is not the result of a check", _HINT


_HINT = "save one with twinrun check --output-format json --output-file result.json train.py"


def _difference(item: dict[str, Any] | None) -> Difference | None:
    if item is None:
        return None
    found: Distance | None = None
    if item.get("differing_count") is not None:
        index, values = item.get("first_index"), item.get("first_values")
        found = Distance(
            differing=float(item["differing"]),
            count=int(item["differing_count"]),
            size=int(item["size"]),
            max_ulp=None if item.get("max_ulp") is None else int(item["max_ulp"]),
            max_abs=None if item.get("max_abs") is None else float(item["max_abs"]),
            first_index=None if index is None else tuple(int(part) for part in index),
            first_values=None if values is None else (str(values[0]), str(values[1])),
            note=_text(item.get("note")),
        )
    return Difference(
        step=int(item["step"]),
        phase=str(item["phase"]),
        tensor=str(item["tensor"]),
        span=int(item.get("span", 1)),
        only_in=_text(item.get("only_in")),
        worker=int(item.get("worker", 0)),
        distance=found,
        others=int(item.get("others", 0)),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(str(value) for value in values or ())


def _dicts(values: Any) -> tuple[dict[str, Any], ...]:
    return tuple(dict(value) for value in values or ())
