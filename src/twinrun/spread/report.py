"""What a spread found: the runs, and for each metric how it spreads, what moves it, and the band to recommend. A saved
report is read back from its runs alone: every figure is made of them anew."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import msgspec

from twinrun.baselines.baseline import finite
from twinrun.comparison.contract import parse_contract
from twinrun.errors import BadResult, UsageError
from twinrun.masking import Masked
from twinrun.spread.plan import ALL, IMPLEMENTATION, REPEAT
from twinrun.spread.statistics import (
    Recommended,
    Strongest,
    Summary,
    recommended,
    strongest,
    summarise,
)

SCHEMA = "twinrun/spread/1"
_SAVE_ONE = "save one with twinrun spread --output-format json --output-file spread.json train.py"


class Run(Masked, msgspec.Struct, frozen=True):
    """One run: the group it belongs to, its number there, and the last value of each metric."""

    source: str
    number: int
    seed: int
    metrics: dict[str, float]
    steps: int = 0
    seconds: float = 0.0

    def same_numbers(self, other: Run) -> bool:
        return repr(sorted(self.metrics.items())) == repr(sorted(other.metrics.items()))  # nan is nan here


class Failed(Masked, msgspec.Struct, frozen=True):
    source: str
    number: int
    seed: int
    why: str


@dataclass(frozen=True)
class Metric:
    """One metric in all groups. Values that are no finite numbers are counted and take no part in any figure."""

    name: str
    values: dict[str, tuple[float, ...]]  # by source, in the order of the runs
    one_in: int = 100

    @property
    def base(self) -> str:
        """The group that means and bands are made of."""
        return ALL if ALL in self.values else IMPLEMENTATION

    @cached_property
    def finite(self) -> dict[str, list[float]]:
        kept = {source: [v for v in values if math.isfinite(v)] for source, values in self.values.items()}
        return {source: values for source, values in kept.items() if values}

    @property
    def lost(self) -> int:
        """Runs of the base group that ended in nan or infinity."""
        return len(self.values.get(self.base, ())) - len(self.finite.get(self.base, ()))

    @cached_property
    def summaries(self) -> dict[str, Summary]:
        return {source: summarise(values) for source, values in self.finite.items()}

    @property
    def summary(self) -> Summary | None:
        return self.summaries.get(self.base)

    @cached_property
    def band(self) -> Recommended | None:
        found = recommended(self.finite.get(self.base, []), self.one_in)
        return found if self.in_contract(found.width if found else 0.0) else None

    def in_contract(self, width: float) -> str | None:
        """The part of `band=…` for this metric. None for a name that a contract cannot hold."""
        text = f"band={self.name}:{width:g}"
        try:
            (band,) = parse_contract(text).bands
        except (UsageError, ValueError):
            return None
        return f"{self.name}:{width:g}" if band.metric == self.name else None

    @cached_property
    def strongest(self) -> Strongest | None:
        return strongest({source: each for source, each in self.finite.items() if source != ALL})

    @property
    def not_the_seeds(self) -> float | None:
        """The share of the variance that is there with the seed fixed, where both were measured."""
        seed, rest = self.summaries.get(ALL), self.summaries.get(IMPLEMENTATION)
        if seed is None or rest is None or seed.sd is None or rest.sd is None:
            return None
        total = seed.sd**2 + rest.sd**2
        return rest.sd**2 / total if total else None

    def as_json(self) -> dict[str, Any]:
        band, text = self.band, self.in_contract(self.band.width) if self.band else None
        return {
            "name": self.name,
            "sources": {source: _builtins(each) for source, each in self.summaries.items()},
            "not_finite": self.lost,
            "band": {**_builtins(band), "contract": text} if band else None,
            "strongest": {**_builtins(self.strongest), "clear": self.strongest.clear}
            if self.strongest
            else None,
            "not_the_seeds": self.not_the_seeds,
        }


def _builtins(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(value)
    return found


@dataclass(frozen=True)
class SpreadReport(Masked):
    AS_IS: ClassVar[tuple[str, ...]] = ("arguments", "pin", "schema")  # arguments are masked one by one
    program: str
    arguments: tuple[str, ...] = ()
    pin: str = ""
    steps: int | None = None  # that each run was stopped after
    digest: str | None = None  # of the script
    environment: str = ""  # the name of its key
    one_in: int = 100
    runs: tuple[Run, ...] = ()
    failed: tuple[Failed, ...] = ()
    notes: tuple[str, ...] = ()
    jobs: int = 1
    seconds: float = 0.0
    interrupted: str | None = None
    schema: str = field(default=SCHEMA)

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of every run that has them, those that vary first."""
        names = dict.fromkeys(name for run in self.runs for name in run.metrics)
        found = [Metric(name, self._values(name), self.one_in) for name in names]
        usable = [each for each in found if each.base in each.values]
        return tuple(sorted(usable, key=lambda each: each.summary is None or not each.summary.moves))

    def _values(self, name: str) -> dict[str, tuple[float, ...]]:
        found: dict[str, list[float]] = {}
        for run in sorted(self.runs, key=lambda run: run.number):
            if name in run.metrics and run.source != REPEAT:
                found.setdefault(run.source, []).append(run.metrics[name])
        return {source: tuple(values) for source, values in found.items()}

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.source for run in self.runs if run.source != REPEAT))

    def count(self, source: str) -> int:
        return sum(run.source == source for run in self.runs)

    @property
    def banded(self) -> tuple[Metric, ...]:
        return tuple(metric for metric in self.metrics if metric.band is not None)

    @property
    def contract(self) -> str | None:
        """All recommended bands together."""
        parts = [metric.in_contract(metric.band.width) for metric in self.banded if metric.band]
        return ",".join(f"band={part}" for part in parts) if parts else None

    @property
    def contract_rate(self) -> float | None:
        """At most this share of honest runs leaves one of the bands."""
        rates = [metric.band.rate for metric in self.banded if metric.band]
        return min(1.0, sum(rates)) if rates else None

    @property
    def typical(self) -> Run | None:
        """The run that is nearest to the means of all metrics."""
        moving = [m for m in self.metrics if m.base == ALL and m.summary and m.summary.sd]
        runs = [run for run in self.runs if run.source == ALL]

        def distance(run: Run) -> float:
            gaps = [
                abs(run.metrics.get(metric.name, math.inf) - metric.summary.mean) / metric.summary.sd
                for metric in moving
                if metric.summary and metric.summary.sd
            ]
            return max((gap if math.isfinite(gap) else math.inf for gap in gaps), default=0.0)

        return min(runs, key=lambda run: (distance(run), run.number)) if runs else None

    def as_json(self, *, figures: bool = True) -> dict[str, Any]:
        """Without the figures, which take a while, all that a report is read back from."""
        document = {name: msgspec.to_builtins(getattr(self, name)) for name in _FIELDS}
        if figures:
            document |= {
                "contract": self.contract,
                "contract_rate": self.contract_rate,
                "metrics": [metric.as_json() for metric in self.metrics],
            }
        written: dict[str, Any] = finite(document)
        return written

    @classmethod
    def from_json(cls, document: Any, where: str | None = None) -> SpreadReport:
        """A saved report may come from anybody: every field is checked, and no figure is taken from it."""
        schema = str(document.get("schema"))[:80] if isinstance(document, dict) else ""
        if schema != SCHEMA:
            what = (
                "was written by another version of Twinrun" if "/spread/" in schema else "is no saved spread"
            )
            raise BadResult(f"this {what}", hint=_SAVE_ONE, where=where)
        kept = {name: document[name] for name in _FIELDS if name in document}
        try:
            report = msgspec.convert(kept, cls, strict=False)
        except ValueError as problem:
            raise BadResult(f"this spread is damaged: {problem}", where=where) from None
        if not report.runs or report.one_in < 2 or len(set(_keys(report.runs))) < len(report.runs):
            raise BadResult("this spread is damaged: it has no runs, or one twice", where=where)
        return report


_FIELDS = (
    "schema", "program", "arguments", "pin", "steps", "digest", "environment", "one_in", "jobs", "seconds", "interrupted", "notes",
    "runs", "failed",
)  # fmt: skip


def _keys(runs: Sequence[Run]) -> list[tuple[str, int]]:
    return [(run.source, run.number) for run in runs]
