"""Spreads, and two of them compared, as lines for a terminal. Every figure says how many runs are behind it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from twinrun.counted import counted

if TYPE_CHECKING:
    from twinrun.spread.comparing import Compared, ComparisonReport
    from twinrun.spread.report import Metric, SpreadReport
    from twinrun.spread.statistics import Interval, Recommended, Summary


def as_lines(report: SpreadReport | ComparisonReport) -> Iterator[str]:
    from twinrun.spread.comparing import ComparisonReport

    return comparison_lines(report) if isinstance(report, ComparisonReport) else spread_lines(report)


def spread_lines(report: SpreadReport) -> Iterator[str]:
    yield f"{title(report)}: {how(report)}"
    yield ""
    for metric in report.metrics:
        yield f"  {metric.name}"
        yield from (f"    {sentence}" for sentence in sentences(metric))
    yield ""
    yield from closing(report)


def title(report: SpreadReport) -> str:
    return " ".join([report.program, *map(shlex.quote, report.arguments)])


def how(report: SpreadReport) -> str:
    """What was run, in words."""
    from twinrun.spread.plan import ALL, IMPLEMENTATION

    parts = []
    for source in report.sources:
        runs = many(report.count(source))
        if source == ALL:
            parts.append(f"{runs} with different seeds")
        elif source == IMPLEMENTATION:
            parts.append(f"{runs} with one seed and nothing else pinned")
        else:
            parts.append(f"{runs} with only {source} varied")
    return "; ".join(parts)


def many(runs: int) -> str:
    return counted(runs, "run")


def sentences(metric: Metric) -> Iterator[str]:
    """All that is known of a metric."""
    found = metric.summary
    if found is None:
        yield f"no finite value in {many(metric.lost)}"
        return
    yield spread_of(found)
    if metric.lost:
        yield f"{metric.lost} more of the runs ended in nan or infinity and are not in any figure"
    if metric.band is not None:
        yield from band_sentences(metric.band)
    yield from _moved_by(metric)
    share = metric.not_the_seeds
    if share is not None:
        runs = " and ".join(many(metric.summaries[each].runs) for each in ("seed", "implementation"))
        yield f"not the seed's: {share:.0%} of the variance ({runs})"


def spread_of(found: Summary) -> str:
    if found.sd is None or found.interval is None:
        return f"{found.mean:.6g} ({many(found.runs)}: no spread)"
    if not found.moves:
        return f"{found.mean:.6g} in every one of {many(found.runs)}"
    digits = _digits(found.sd)
    return (
        f"{number(found.mean, digits)} ± {number(found.sd, digits)} (mean ± sd, {many(found.runs)}), "
        f"range {number(found.low, digits)} to {number(found.high, digits)}; "
        f"the mean is in {between(found.interval, digits)} (99%)"
    )


def band_sentences(band: Recommended) -> Iterator[str]:
    yield f"with band ±{band.width:g} one honest run in {one_in(band.rate)} would fail ({many(band.runs)})"
    best, worst = band.rates
    yield (
        f"{many(band.runs)} know this rate only roughly: between one in {one_in(worst)} and one in {one_in(best)} (95%); "
        f"{band.seen} of the {band.pairs} pairs of these runs are further apart"
    )
    if band.doubtful:
        yield "the values do not look normally distributed, which the rate assumes: take it as a rough guide"


def one_in(rate: float) -> str:
    if rate <= 1e-4:
        return "more than 10,000"
    return f"{1 / rate:,.0f}" if rate < 0.1 else f"{1 / rate:.1f}"


def _moved_by(metric: Metric) -> Iterator[str]:
    """Which source moves it, most first."""
    alone = {
        source: each for source, each in metric.summaries.items() if source != "seed" and each.sd is not None
    }
    if metric.base != "seed" or not alone:
        return
    ordered = sorted(alone, key=lambda source: -(alone[source].sd or 0.0))
    shown = ", ".join(f"{source} ± {alone[source].sd:.2g} ({many(alone[source].runs)})" for source in ordered)
    yield f"one source at a time: {shown}"
    most = metric.strongest
    if most is None:
        yield "none of these sources moves it"
    elif most.next is None:
        if len(alone) > 1:
            yield f"of these, {most.source} alone moves it"
    else:
        found = f"p = {most.p:.2g} with {alone[most.source].runs} and {many(alone[most.next].runs)}"
        yield (
            f"{most.source} moves it most (against {most.next}, {found})"
            if most.clear
            else f"{most.source} moves it most in these runs, but so few cannot tell it from {most.next} ({found})"
        )


def closing(report: SpreadReport) -> Iterator[str]:
    """The contract, and what must be known beside the figures."""
    from twinrun.spread.plan import IMPLEMENTATION

    if report.interrupted:
        yield f"{report.interrupted}: only the runs that had ended are reported; --reuse goes on from a saved result"
    if report.contract is not None and report.contract_rate is not None:
        yield f"contract: {shlex.join(['--contract', report.contract])}"
        change = (
            "the same seed and no" if report.sources == (IMPLEMENTATION,) else "another seed and no other"
        )
        yield f"  a band is how far two runs may be apart, twins or a run and its baseline; an honest run has {change} change"
        if len(report.banded) > 1:
            runs = min(metric.band.runs for metric in report.banded if metric.band)
            yield f"  at most one honest run in {one_in(report.contract_rate)} would leave one of its {len(report.banded)} bands ({many(runs)})"
    elif any(metric.summary and metric.summary.moves for metric in report.metrics):
        yield "no band can be recommended: three runs are the least"
    elif report.sources == (IMPLEMENTATION,):
        yield f"with the seeds fixed nothing moved in {many(len(report.runs))}: no spread was seen that is not the seed's"
    else:
        yield (
            "nothing moved in any run: the program draws no random numbers, or gives all of them seeds of its own "
            "(default_rng(0), seed=1); --seed-option varies a seed that is an option of the program"
        )
    if report.sources == (IMPLEMENTATION,):
        yield "what share of the spread over seeds this is: --sources implementation"
    for failed in report.failed:
        yield f"failed: {failed.source}, seed {failed.seed}: {failed.why}"
    for note in report.notes:
        yield f"note: {note}"


def comparison_lines(report: ComparisonReport) -> Iterator[str]:
    a, b = report.names
    yield f"A: {a} ({how(report.a)})"
    yield f"B: {b} ({how(report.b)})"
    yield ""
    for each in report.metrics:
        yield f"  {each.name}: {verdict(each)}"
        yield from (f"    {sentence}" for sentence in compared_sentences(each))
    yield ""
    yield conclusion(report)
    yield from comparison_closing(report)


def comparison_closing(report: ComparisonReport) -> Iterator[str]:
    """What must be known beside the figures."""
    yield from (f"note: {note}" for note in report.notes)
    for name in report.only_in:
        yield f"note: only one of them has {name}"
    for letter, variant in (("A", report.a), ("B", report.b)):
        if variant.interrupted:
            yield f"{letter} was {variant.interrupted}: only the runs that had ended are compared"
        yield from (
            f"failed: {letter}, {each.source}, seed {each.seed}: {each.why}" for each in variant.failed
        )
        yield from (f"note: {letter}: {note}" for note in variant.notes)


def verdict(each: Compared) -> str:
    if not each.differs:
        return "no difference beyond the seed"
    return f"B is {'higher' if each.found.difference > 0 else 'lower'}, beyond the seed"


def compared_sentences(each: Compared) -> Iterator[str]:
    found = each.found
    for letter, side in (("A", found.a), ("B", found.b)):
        yield f"{letter} {spread_of(side)}"
    runs = (
        f"{found.a.runs} pairs of runs with the same seeds"
        if found.paired
        else f"{found.a.runs} and {many(found.b.runs)}"
    )
    gap = f"difference {found.difference:+.4g}"
    if found.interval is not None:
        gap += f" ({between(found.interval, None)}, 95%)"
    effect = "" if found.effect is None else f", effect size {found.effect:+.2f}"
    yield f"{gap}{effect}, p = {each.p:.2g} ({runs}, permutation test)"
    if not each.differs:
        yield _more(each)


def _more(each: Compared) -> str:
    if each.found.difference == 0:
        return "the means are equal: more seeds would settle nothing"
    if each.found.more is None and each.found.effect is None:
        return "more runs of each are needed to tell"
    if each.found.more is None:
        return "no reasonable number of seeds would show a difference this small"
    return f"about {each.found.more} more seeds of each would show it in four of five attempts, if it is as large as it looks"


def conclusion(report: ComparisonReport) -> str:
    tested = counted(len(report.metrics), "metric")
    if report.differing:
        names = ", ".join(each.name for each in report.differing)
        return f"the variants differ beyond the seed in {names} (of {tested}, level 5% for all together)"
    if report.too_few:
        return (
            f"too few runs to call any difference one: {report.least_runs} of each are the least for {tested}"
        )
    return f"no difference beyond the seed was found in {tested} (level 5% for all together)"


# Numbers


def _digits(sd: float) -> int:
    """Decimals that show the standard deviation with two digits."""
    from math import floor, log10

    return max(0, min(12, 1 - floor(log10(sd))))


def number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if abs(value) < 1e6 else f"{value:.6g}"


def between(interval: Interval, digits: int | None) -> str:
    low, high = (f"{end:.4g}" if digits is None else number(end, digits) for end in interval)
    return f"{low} to {high}"
