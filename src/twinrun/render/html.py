"""The report that opens in a browser: one self-contained file, nothing loaded from anywhere, everything that came from
a program or a recording escaped."""

from __future__ import annotations

from typing import Any

from twinrun import __version__
from twinrun.recording.frame import EVIDENCE, PHASES
from twinrun.render.chart import growth_chart
from twinrun.render.excerpt import excerpt
from twinrun.render.templates import render
from twinrun.render.text import appeared, headline
from twinrun.result import CheckResult

# What each phase holds, for readers who are new to the words.
_MEANING = {
    "init": "weights before the first step",
    "batch": "the data fed",
    "probe": "tensors you probed",
    "forward": "what the model gave",
    "loss": "the loss",
    "gradient": "the gradients",
    "weights": "weights and optimizer state after the step",
    "metric": "metrics",
    "final": "weights at the end",
}


def as_html(result: CheckResult) -> str:
    first = result.first_difference or result.first_bit_difference
    return render(
        "report.html.j2",
        result=result,
        headline=headline(result),
        first=first,
        phases=[phase for phase in PHASES if phase not in EVIDENCE],
        meaning=_MEANING,
        appeared=appeared(first) if first and first.span > 1 else "",
        chart=growth_chart(result.growth),
        growth=[row for row in result.growth if row.max_abs is not None],
        excerpt=excerpt,
        controls=_controls(result.controls),
        environment=result.environment,
        summary=_summary(result),
        version=__version__,
    )


def _summary(result: CheckResult) -> dict[str, str]:
    seconds = result.timing.get("seconds")
    rows = {
        "contract": result.contract,
        "runs": str(result.runs),
        "steps compared": f"{result.steps_compared:,}",
        "varied": ", ".join(result.varied),
        "reason": result.reason_kind or "",
        "took": "" if seconds is None else f"{seconds:.1f} s",
        "environment": str(result.environment.get("name") or ""),
    }
    return {name: value for name, value in rows.items() if value}


def _controls(controls: dict[str, Any]) -> list[dict[str, Any]]:
    """Those that the program uses, in the fields that the page has for them; those that do not hold come first."""
    entries = {
        name: entry if isinstance(entry, dict) else {"state": entry} for name, entry in controls.items()
    }
    rows = [
        {
            "name": name,
            "state": entry.get("state"),
            "by": " at ".join(str(entry[part]) for part in ("set_by", "place") if entry.get(part)),
            "ok": bool(entry.get("ok")),
            "remark": str(entry.get("protects" if entry.get("ok") else "why_not") or ""),
            "how": "" if entry.get("ok") else str(entry.get("how") or ""),
        }
        for name, entry in entries.items()
        if entry.get("used", True)
    ]
    return sorted(rows, key=lambda row: bool(row["ok"]))
