"""Rendering: one result, many views. Each format is a file here; this one chooses and writes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from twinrun.errors import CannotWrite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinrun.findings.finding import Finding
    from twinrun.launch.run import RunResult
    from twinrun.result import CheckResult


def write_result(
    result: CheckResult,
    output_format: str,
    output_file: str | None,
    html: str | None = None,
    *,
    quiet: bool = False,
    fix_diff: bool = False,
) -> None:
    if html:
        from twinrun.render.html import as_html

        _write(as_html(result), html)
    if fix_diff:
        from twinrun.render.fixdiff import as_fix_diff

        patch = as_fix_diff(result)
        if not patch:
            sys.stderr.write("hint: nothing was found that can be mended safely by a patch\n")
        _write(patch, output_file)
        return
    _write(_rendered(result, output_format, quiet, colour=output_file is None), output_file)


def write_results(
    results: Sequence[tuple[str, CheckResult]],
    *,
    output_format: str,
    output_file: str | None,
    html: str | None,
    **how: bool,
) -> None:
    """One result, or those of several named programs together."""
    if output_format == "github":
        from twinrun.render.summary import write_summary

        write_summary(results)
    if len(results) == 1:
        write_result(results[0][1], output_format, output_file, html, **how)
        return
    from twinrun.render.several import as_one

    _write(
        as_one(results, output_format, quiet=how.get("quiet", False), colour=output_file is None), output_file
    )


def _rendered(result: CheckResult, output_format: str, quiet: bool, colour: bool) -> str:
    if output_format == "json":
        return json.dumps(result.as_json(), indent=1, default=str) + "\n"
    if output_format == "github":
        from twinrun.render.summary import annotation

        return annotation("", result) + findings_text(result.findings, output_format)
    if output_format == "sarif":
        return findings_text(result.findings, output_format)
    if output_format == "html":
        from twinrun.render.html import as_html

        return as_html(result)
    if output_format == "junit":
        from twinrun.render.junit import as_junit

        return as_junit(result)
    from twinrun.render.text import as_text

    return as_text(result, quiet=quiet, colour=colour)


def write_findings(findings: Sequence[Finding], output_format: str, output_file: str | None) -> None:
    """For the formats that show findings and nothing else."""
    _write(findings_text(findings, output_format), output_file)


def findings_text(findings: Sequence[Finding], output_format: str) -> str:
    if output_format == "sarif":
        from twinrun.render.sarif import as_sarif

        return as_sarif(findings)
    from twinrun.render.github import as_github

    return as_github(findings)


def write_run(result: RunResult, output_format: str, output_file: str | None, *, quiet: bool) -> None:
    if output_format == "json":
        _write(json.dumps(result.as_json(), indent=1, default=str) + "\n", output_file)
        return
    from twinrun.render.text import run_as_text

    _write(run_as_text(result, quiet=quiet), output_file)


def _write(text: str, file: str | None) -> None:
    if file is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        Path(file).write_text(text)
    except OSError as problem:
        raise CannotWrite(f"cannot write {file}: {problem.strerror}", hint="choose another place") from None
