"""A spread, or two compared, as one page that opens in a browser: nothing loaded from anywhere, no script, everything
that came from a program escaped."""

from __future__ import annotations

from typing import Any

from twinrun import __version__
from twinrun.render.spread_chart import Row, strip
from twinrun.render.spread_text import (
    closing,
    compared_sentences,
    comparison_closing,
    conclusion,
    how,
    many,
    sentences,
    title,
    verdict,
)
from twinrun.render.templates import render
from twinrun.spread.comparing import ComparisonReport
from twinrun.spread.report import Metric, SpreadReport

_LEGEND = "One dot for each run, their number in brackets; the upright line is the mean, the bar where the mean lies (99%)."
_BAND = " Shaded: as far from the mean as the recommended band lets two runs be apart."


def as_html(report: SpreadReport | ComparisonReport) -> str:
    view = _compared(report) if isinstance(report, ComparisonReport) else _spread(report)
    return render("spread.html.j2", version=__version__, **view)


def _spread(report: SpreadReport) -> dict[str, Any]:
    return {
        "kind": "twinrun spread",
        "title": title(report),
        "headline": how(report),
        "about": {
            "pin": report.pin,
            "environment": report.environment,
            "side by side": many(report.jobs),
            "took": f"{report.seconds:.1f} s",
        },
        "metrics": [
            {"name": each.name, "said": list(sentences(each)), "chart": strip(_rows(each))}
            for each in report.metrics
        ],
        "legend": _LEGEND + (_BAND if report.banded else ""),
        "closing": list(closing(report)),
        "columns": [metric.name for metric in report.metrics],
        "runs": [(run.source, run.seed, run.metrics) for run in report.runs],
    }


def _rows(metric: Metric) -> list[Row]:
    return [
        Row(
            source,
            metric.finite[source],
            found,
            metric.band.width if metric.band and source == metric.base else None,
        )
        for source, found in metric.summaries.items()
    ]


def _compared(report: ComparisonReport) -> dict[str, Any]:
    a, b = report.names
    values = [
        {each.name: each.finite.get(each.base, []) for each in side.metrics} for side in (report.a, report.b)
    ]
    return {
        "kind": "twinrun spread --compare",
        "title": f"{a} and {b}",
        "headline": conclusion(report),
        "about": {"A": f"{a}: {how(report.a)}", "B": f"{b}: {how(report.b)}"},
        "metrics": [
            {
                "name": f"{each.name}: {verdict(each)}",
                "said": list(compared_sentences(each)),
                "chart": strip(
                    [
                        Row("A", values[0][each.name], each.found.a),
                        Row("B", values[1][each.name], each.found.b),
                    ]
                ),
            }
            for each in report.metrics
        ],
        "legend": _LEGEND,
        "closing": list(comparison_closing(report)),
        "columns": [metric.name for metric in report.metrics],
        "runs": [
            (f"{letter}, {run.source}", run.seed, run.metrics)
            for letter, side in (("A", report.a), ("B", report.b))
            for run in side.runs
        ],
    }
