"""A data audit drawn: the list of stages as text, and as HTML for a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from twinrun.findings.finding import Finding
from twinrun.pipelines.build_sites import shown_file

if TYPE_CHECKING:
    from twinrun.pipelines.pipeline_stages import Stage

_SHOWN = (
    "buffer_size",
    "batch_size",
    "count",
    "num_parallel_calls",
    "cycle_length",
    "deterministic",
    "num_shards",
    "index",
    "workers",
    "elements",
)


def as_text(subject: str, stages: tuple[Stage, ...], findings: tuple[Finding, ...]) -> str:
    rows = [("stage", "", "order", "randomness", "built at")]
    rows += [(_number(stage), _call(stage), stage.order, stage.randomness, _place(stage)) for stage in stages]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = (
        [f"{subject}: {len(stages)} stage{'s' * (len(stages) > 1)}, {_count(findings)}"]
        if stages
        else [f"{subject}: {_count(findings)}"]
    )
    for row, stage in zip(rows if stages else [], [None, *stages], strict=False):
        lines.append(
            "  "
            + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=False))
            + "  "
            + row[4]
        )
        lines += [f"      · {note}" for note in (stage.notes if stage is not None else ())]
    for one in findings:
        lines.append(f"{one.code} {one.name}: {one.message}")
        lines += [f"  --> {shown_file(one.place)}"] if one.place else []
        lines += [f"      {text}" for text in one.evidence]
        lines += [f"  fix: {one.fix}"] if one.fix else []
    return "\n".join(line.rstrip() for line in lines)


def as_html(subject: str, stages: tuple[Stage, ...], findings: tuple[Finding, ...]) -> str:
    colours = {"deterministic": "#2e7d32", "none": "#2e7d32", "seeded": "#2e7d32", "unknown": "#8d6e00"}
    rows = []
    for stage in stages:
        cells = [_number(stage), _call(stage)]
        text = "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in cells)
        for word in (stage.order, stage.randomness):
            text += f"<td style='text-align:left;color:{colours.get(word, '#c62828')}'>{escape(word)}</td>"
        notes = "".join(f"<br><small>{escape(note)}</small>" for note in stage.notes)
        rows.append(f"<tr>{text}<td style='text-align:left'>{escape(_place(stage))}{notes}</td></tr>")
    heads = "".join(
        f"<th style='text-align:left'>{head}</th>"
        for head in ("", "stage", "order", "randomness", "built at")
    )
    items = "".join(
        f"<li><b>{escape(one.code)}</b> {escape(one.message)}"
        + (f" <code>{escape(shown_file(one.place))}</code>" if one.place else "")
        + (f"<br>fix: {escape(one.fix)}" if one.fix else "")
        + "</li>"
        for one in findings
    )
    table = f"<table><tr>{heads}</tr>{''.join(rows)}</table>" if stages else ""
    return f"<div><p>{escape(subject)}: {_count(findings)}</p>{table}<ul>{items}</ul></div>"


def _count(findings: tuple[Finding, ...]) -> str:
    return {0: "no findings", 1: "1 finding"}.get(len(findings), f"{len(findings)} findings")


def _number(stage: Stage) -> str:
    return "  " * stage.depth + stage.number


def _call(stage: Stage) -> str:
    shown = []
    for name in _SHOWN:
        value = stage.attributes.get(name)
        if value is None or value == "default":
            continue
        if name == "elements":
            value = "∞" if value == -1 else value
        elif value == -1 and name in ("num_parallel_calls", "buffer_size", "cycle_length"):
            value = "AUTOTUNE"
        shown.append(f"{name}={value}")
    if stage.seeds is not None and stage.seeds != (0, 0):
        shown.append(f"seed={stage.seeds[1]}")
    return f"{stage.kind}({', '.join(shown)})"


def _place(stage: Stage) -> str:
    return "unknown line" if stage.site is None else str(stage.site)
