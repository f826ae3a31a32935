"""A spread, or two compared, in the format that is asked for."""

from __future__ import annotations

from twinrun.render import show, write
from twinrun.render.spread_html import as_html
from twinrun.render.spread_text import as_lines
from twinrun.spread.comparing import ComparisonReport
from twinrun.spread.report import SpreadReport


def write_report(
    report: SpreadReport | ComparisonReport, *, output_format: str, output_file: str | None, html: str | None
) -> None:
    if html:
        write(as_html(report), html)
    if output_format == "html":
        write(as_html(report), output_file)
    else:
        show(output_format, report.as_json(), as_lines(report), output_file)
