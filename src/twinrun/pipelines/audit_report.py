"""The audit of one input: its stages and findings, as text and, for a notebook, as HTML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from twinrun.findings.finding import Finding
from twinrun.pipelines.build_sites import shown_file
from twinrun.pipelines.pipeline_stages import Stage, Stages

_HEADS = ("stage", "", "order", "randomness", "built at")
_SHOWN = """
    buffer_size batch_size count num_parallel_calls cycle_length deterministic num_shards index workers elements
"""
_AUTOTUNED = ("num_parallel_calls", "buffer_size", "cycle_length")
_COLOURS = {"deterministic": "#2e7d32", "none": "#2e7d32", "seeded": "#2e7d32", "unknown": "#8d6e00"}
_HTML = """\
<div><p>{{ subject }}: {{ count }}</p>
{%- if stages %}<table><tr>{% for head in heads %}<th style="text-align:left">{{ head }}</th>{% endfor %}</tr>
{%- for cells, notes in stages %}<tr>
{%- for cell in cells %}<td style="text-align:left{{ ';color:' ~ colours.get(cell, '#c62828') if loop.index in (3, 4) }}">{{ cell }}
{%- if loop.last %}{% for note in notes %}<br><small>{{ note }}</small>{% endfor %}{% endif %}</td>{% endfor %}</tr>
{%- endfor %}</table>{% endif %}
<ul>{% for one in findings %}<li><b>{{ one.code }}</b> {{ one.message }}
{%- if one.place %} <code>{{ shown_file(one.place) }}</code>{% endif %}
{%- if one.fix %}<br>fix: {{ one.fix }}{% endif %}</li>{% endfor %}</ul></div>"""


@dataclass(frozen=True)
class DataAudit:
    """What was found in one input: its stages, sources first, and findings. `str()` gives a table."""

    stages: Stages
    findings: tuple[Finding, ...]
    subject: str = "dataset"

    def __str__(self) -> str:
        count = f"{len(self.stages)} stage{'s' * (len(self.stages) > 1)}, " if self.stages else ""
        lines = [f"{self.subject}: {count}{self._count}"]
        rows = [_HEADS, *map(_cells, self.stages)]
        widths = [max(len(row[column]) for row in rows) for column in range(4)] + [0]
        for row, notes in zip(rows, [(), *(stage.notes for stage in self.stages)], strict=True):
            if self.stages:
                cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
                lines.append("  " + "  ".join(cells))
            lines += [f"      · {note}" for note in notes]
        lines += finding_lines(self.findings, with_evidence=True)
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        from jinja2 import Template

        html: str = Template(_HTML, autoescape=True).render(
            subject=self.subject,
            count=self._count,
            heads=_HEADS,
            stages=[(_cells(stage), stage.notes) for stage in self.stages],
            findings=self.findings,
            colours=_COLOURS,
            shown_file=shown_file,
        )
        return html

    @property
    def _count(self) -> str:
        return f"{len(self.findings) or 'no'} finding{'s' * (len(self.findings) != 1)}"


def finding_lines(findings: Iterable[Finding], *, with_evidence: bool = False) -> list[str]:
    lines = []
    for one in findings:
        lines.append(f"{one.code} {one.name}: {one.message}")
        lines += [f"  --> {shown_file(one.place)}"] if one.place else []
        lines += [f"      {text}" for text in one.evidence if with_evidence]
        lines += [f"  fix: {one.fix}"] if one.fix else []
    return lines


def _cells(stage: Stage) -> tuple[str, ...]:
    number = "  " * stage.depth + stage.number
    return number, _call(stage), stage.order, stage.randomness, stage.where or "unknown line"


def _call(stage: Stage) -> str:
    shown = []
    for name in _SHOWN.split():
        value = stage.attributes.get(name)
        if value is None or value == "default":
            continue
        if value == -1 and name == "elements":
            value = "∞"
        elif value == -1 and name in _AUTOTUNED:
            value = "AUTOTUNE"
        shown.append(f"{name}={value}")
    if stage.seeds is not None and stage.seeds != (0, 0):
        shown.append(f"seed={stage.seeds[1]}")
    return f"{stage.kind}({', '.join(shown)})"
