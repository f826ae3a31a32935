"""Two variants of a program, each spread over seeds: do they differ beyond what the seed does by itself?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from twinrun.baselines.baseline import finite
from twinrun.counted import counted
from twinrun.errors import BadResult, NotComparable
from twinrun.masking import Masked
from twinrun.spread.report import Metric, SpreadReport
from twinrun.spread.statistics import LEVEL, POWER, Comparison, compare, holm, least_runs

SCHEMA = "twinrun/spread-compare/1"
_CONDITIONS = ("environment", "pin", "steps")


@dataclass(frozen=True)
class Compared:
    """One metric of both. `p` is corrected for the number of metrics."""

    name: str
    found: Comparison
    p: float

    @property
    def differs(self) -> bool:
        return self.p < LEVEL

    def as_json(self) -> dict[str, Any]:
        figures: dict[str, Any] = msgspec.to_builtins(self.found)
        figures["more"] = 0 if self.differs else self.found.more
        return {
            "name": self.name,
            "differs": self.differs,
            "p": self.p,
            "p_alone": figures.pop("p"),
            **figures,
        }


@dataclass(frozen=True)
class ComparisonReport(Masked):
    names: tuple[str, str]  # as the user gave them
    a: SpreadReport
    b: SpreadReport
    only_in: tuple[str, ...] = ()  # metrics that one of them has and the other has not

    @cached_property
    def metrics(self) -> tuple[Compared, ...]:
        pairs = shared_metrics(self.a, self.b)
        found = [self._compare(one, other, len(pairs)) for one, other in pairs]
        ps = holm([each.p for each in found])
        return tuple(Compared(one.name, each, p) for (one, _), each, p in zip(pairs, found, ps, strict=True))

    def _compare(self, one: Metric, other: Metric, tests: int) -> Comparison:
        """Runs of the same seed are no independent ones: they are compared pair by pair, and others are left out, where there
        are enough pairs to show anything. Only the seeds decide, never what comes of it."""
        a, b = (by_seed(report, one.name, one.base) for report in (self.a, self.b))
        if a is not None and b is not None:
            shared = [seed for seed in a if seed in b]
            if a.keys() == b.keys() or len(shared) >= least_runs(tests, paired=True):
                return compare([a[seed] for seed in shared], [b[seed] for seed in shared], tests, paired=True)
        return compare(one.finite[one.base], other.finite[other.base], tests)

    @property
    def _unpaired(self) -> Iterator[str]:
        """What pairs leave out, for the metrics of which it is the same together."""
        names: dict[tuple[int, int, int], list[str]] = {}
        for each, (metric, _) in zip(self.metrics, shared_metrics(self.a, self.b), strict=True):
            if each.found.paired:
                pairs = each.found.a.runs
                of_a, of_b = (report.count(metric.base) - pairs for report in (self.a, self.b))
                names.setdefault((pairs, of_a, of_b), []).append(each.name)
        for (pairs, of_a, of_b), metrics in names.items():
            if of_a or of_b:
                yield (
                    f"{', '.join(metrics)}: compared in the {pairs} seeds for which both have a value; "
                    f"{counted(of_a, 'run')} of A and {counted(of_b, 'run')} of B not used"
                )

    @property
    def notes(self) -> tuple[str, ...]:
        """What else differs between the two than the variant, and which runs are not compared."""
        known = [(name, _shown(self.a, name), _shown(self.b, name)) for name in _CONDITIONS]
        return tuple(
            f"A and B differ in their {name} too: {one}, and {other}"
            for name, one, other in known
            if one and other and one != other
        ) + tuple(self._unpaired)

    @property
    def differing(self) -> tuple[Compared, ...]:
        return tuple(each for each in self.metrics if each.differs)

    @property
    def least_runs(self) -> int:
        return max(least_runs(len(self.metrics), paired=each.found.paired) for each in self.metrics)

    @property
    def too_few(self) -> bool:
        """Whether no difference, however large, could be called one."""
        return all(each.found.least_p * len(self.metrics) >= LEVEL for each in self.metrics)

    def as_json(self) -> dict[str, Any]:
        document: dict[str, Any] = finite({
            "schema": SCHEMA,
            "variants": list(self.names),
            "differs": bool(self.differing),
            "level": LEVEL,
            "power": POWER,
            "least_runs": self.least_runs,
            "metrics": [each.as_json() for each in self.metrics],
            "only_in_one": list(self.only_in),
            "notes": list(self.notes),
            "a": self.a.as_json(),
            "b": self.b.as_json(),
        })  # fmt: skip
        return document

    @classmethod
    def from_json(cls, document: dict[str, Any], where: str | None = None) -> ComparisonReport:
        """Made anew from the runs of both: a saved report may come from anybody."""
        if document.get("schema") != SCHEMA:
            raise BadResult("this was written by another version of Twinrun", where=where)
        names = document.get("variants")
        if not isinstance(names, list) or [type(name) for name in names] != [str, str]:
            raise BadResult("this comparison is damaged: it does not name two variants", where=where)
        a, b = (SpreadReport.from_json(document.get(side), where=where) for side in ("a", "b"))
        return comparison((names[0], names[1]), a, b)


def _shown(report: SpreadReport, condition: str) -> str:
    value = getattr(report, condition)
    return "all" if value is None else str(value)


def by_seed(report: SpreadReport, metric: str, source: str) -> dict[int, float] | None:
    """The finite values of a metric, by the seed of the run; None where several runs had the same."""
    runs = [
        run
        for run in report.runs
        if run.source == source and math.isfinite(run.metrics.get(metric, math.nan))
    ]
    found = {run.seed: run.metrics[metric] for run in sorted(runs, key=lambda run: run.number)}
    return found if len(found) == len(runs) else None


def shared_metrics(a: SpreadReport, b: SpreadReport) -> list[tuple[Metric, Metric]]:
    others = {metric.name: metric for metric in b.metrics}
    pairs = [(metric, others[metric.name]) for metric in a.metrics if metric.name in others]
    return [(one, other) for one, other in pairs if one.summary and other.summary and one.base == other.base]


def comparison(names: tuple[str, str], a: SpreadReport, b: SpreadReport) -> ComparisonReport:
    pairs = {one.name for one, _ in shared_metrics(a, b)}
    every = dict.fromkeys(metric.name for report in (a, b) for metric in report.metrics)
    if not pairs:
        raise NotComparable(
            "the two have no metric in common",
            hint=f"there are {', '.join(every) or 'none'} in one of them only",
        )
    return ComparisonReport(names, a, b, tuple(name for name in every if name not in pairs))
