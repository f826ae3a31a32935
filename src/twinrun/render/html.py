"""The report that opens in a browser: one self-contained file, nothing loaded from anywhere, everything that came from
a program or a recording escaped."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinrun import __version__
from twinrun.comparison.frames import Difference
from twinrun.recording.frame import EVIDENCE, PHASES
from twinrun.render.chart import growth_chart
from twinrun.render.excerpt import excerpt
from twinrun.render.text import appeared, headline, printable
from twinrun.result import CheckResult

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATE = "report.html.j2"
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
    text: str = _environment().get_template(_TEMPLATE).render(_view(result))
    return text


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )


def _shown(value: Any) -> Any:
    """Every value on its way into the page. Control characters are shown, never passed on."""
    return printable(value) if type(value) is str else value


def _view(result: CheckResult) -> dict[str, Any]:
    first = result.first_difference or result.first_bit_difference
    return {
        "result": result,
        "headline": f"{result.verdict}{headline(result)}",
        "first": first,
        "phases": _phases(first),
        "appeared": appeared(first) if first and first.span > 1 else "",
        "chart": growth_chart(result.growth),
        "growth": [row for row in result.growth if row.max_abs is not None],
        "findings": [
            {"it": each, "source": excerpt(each.file, each.line), "fix": _fix(each.fix)}
            for each in result.findings
        ],
        "controls": _controls(result.controls),
        "key": _flat(result.environment.get("key")),
        "environment_name": str(result.environment.get("name") or ""),
        "facts": _groups(result.environment.get("facts")),
        "summary": _summary(result),
        "version": __version__,
    }


def _summary(result: CheckResult) -> list[tuple[str, str]]:
    rows = [
        ("contract", result.contract),
        ("runs", str(result.runs)),
        ("steps compared", f"{result.steps_compared:,}"),
    ]
    if result.varied:
        rows.append(("varied", ", ".join(result.varied)))
    if result.reason_kind:
        rows.append(("reason", result.reason_kind))
    if "seconds" in result.timing:
        rows.append(("took", f"{result.timing['seconds']:.1f} s"))
    if name := result.environment.get("name"):
        rows.append(("environment", str(name)))
    return rows


def _phases(first: Difference | None) -> list[dict[str, str]]:
    """The phases in the order of blame, with where the twins part."""
    if first is None or first.phase not in PHASES:
        return []
    rank = PHASES.index(first.phase)
    return [
        {"name": phase, "state": _state(PHASES.index(phase), rank), "meaning": _MEANING.get(phase, "")}
        for phase in PHASES
        if phase not in EVIDENCE
    ]


def _state(rank: int, blamed: int) -> str:
    return "before" if rank < blamed else "here" if rank == blamed else "after"


def _fix(text: str | None) -> list[tuple[str, str]]:
    """The lines of a fix: those to remove, those to add, and the words around them."""
    kinds = {"- ": "out", "+ ": "in"}
    return [
        (kinds.get(line[:2], "words"), line)
        for line in (text or "").splitlines()
        if line.strip() not in ("", "-")
    ]


def _controls(controls: dict[str, Any]) -> list[dict[str, str]]:
    rows = [
        _control(name, entry if isinstance(entry, dict) else {"state": entry})
        for name, entry in controls.items()
        if not isinstance(entry, dict) or entry.get("used", True)
    ]
    return sorted(rows, key=lambda row: row["mark"] == "ok")


def _control(name: str, entry: dict[str, Any]) -> dict[str, str]:
    ok, place = bool(entry.get("ok")), entry.get("place")
    return {
        "name": name,
        "state": _plain(entry.get("state")),
        "by": f"{entry.get('set_by', '')}{f' at {place}' if place else ''}",
        "mark": "ok" if ok else "open",
        "remark": str(entry.get("protects" if ok else "why_not") or ""),
        "how": "" if ok else str(entry.get("how") or ""),
    }


def _groups(facts: Any) -> list[tuple[str, list[tuple[str, str]]]]:
    if not isinstance(facts, dict):
        return []
    return [(str(group), rows) for group, fields in facts.items() if (rows := _flat(fields))]


def _flat(fields: Any) -> list[tuple[str, str]]:
    if not isinstance(fields, dict):
        return []
    return [(str(name), _plain(value)) for name, value in fields.items() if value not in (None, "", [], {})]


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(inner)}" for key, inner in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(inner) for inner in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
