"""The report that opens in a browser: one self-contained file, nothing loaded from anywhere, everything that came from
a program or a recording escaped."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

from markupsafe import Markup

from twinrun import __version__
from twinrun.render.plots import STEP_PHASES, Plots
from twinrun.render.said_once import evidence_beside, notes_beside
from twinrun.render.templates import render
from twinrun.render.text import appeared, tail_title
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
_SCRIPT = (
    "plot",
    "states",
    "lines",
    "elements",
    "page",
)  # in this order: each uses what those before it define
# A control as the page shows it, where a saved result leaves out some of it.
_CONTROL = {**dict.fromkeys(("state", "set_by", "place", "ok", "protects", "why_not", "how")), "used": True}


def as_html(result: CheckResult) -> str:
    first = result.first_difference or result.first_bit_difference
    style, script = _source("report.css"), _script()
    plots = Plots.of(result)
    return render(
        "report.html.j2",
        style=Markup(style),
        script=Markup(script),
        numbers=Markup(plots.as_json()),
        # The browser runs our script and no other, whatever a name manages to put into the page.
        policy=f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'",
        result=result,
        headline=result.headline,
        evidence=[evidence_beside(finding, result.experiments) for finding in result.findings],
        notes=list(notes_beside(result)),
        first=first,
        plots=plots,
        phases=STEP_PHASES,
        at_first=plots.phases_at_first(first.phase) if first is not None else {},
        meaning=_MEANING,
        appeared=appeared(first) if first and first.span > 1 else "",
        tail_title=tail_title(result.reason_kind),
        controls=_controls(result.controls),
        environment=result.environment,
        version=__version__,
    )


def _script() -> str:
    """One script, in a scope of its own."""
    parts = "\n".join(_source(f"report_script/{part}.js") for part in _SCRIPT)
    return f'"use strict";\n{{\n{parts}}}\n'


def _source(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _controls(controls: dict[str, Any]) -> list[dict[str, Any]]:
    """The controls that the program uses; those that do not hold come first."""
    rows = [
        {**_CONTROL, **(entry if isinstance(entry, dict) else {"state": entry}), "name": name}
        for name, entry in controls.items()
    ]
    return sorted((row for row in rows if row["used"]), key=lambda row: bool(row["ok"]))
