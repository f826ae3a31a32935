"""Rendering: one result, many views. Each format is a file here; this one chooses and writes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinrun.errors import CannotWrite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinrun.findings.finding import Finding
    from twinrun.launch.run import RunResult
    from twinrun.result import CheckResult

    Several = Sequence[tuple[str, CheckResult]]  # with the name of each program

NOTHING_TO_FIX = "hint: nothing was found that can be fixed automatically"


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

        write(as_html(result), html)
    if fix_diff:
        from twinrun.render.fixdiff import as_fix_diff

        text = as_fix_diff(result)
        if not text:
            sys.stderr.write(f"{NOTHING_TO_FIX}\n")
    else:
        text = rendered([("", result)], output_format, quiet=quiet, colour=output_file is None)
    write(text, output_file)


def write_results(
    results: Several, *, output_format: str, output_file: str | None, html: str | None, **how: bool
) -> None:
    """One result, or those of several named programs together."""
    if output_format == "github":
        from twinrun.render.summary import write_summary

        write_summary(results)
    if len(results) == 1:
        write_result(results[0][1], output_format, output_file, html, **how)
    else:
        quiet = how.get("quiet", False)
        write(rendered(results, output_format, quiet=quiet, colour=output_file is None), output_file)


def write_run(result: RunResult, output_format: str, output_file: str | None, *, quiet: bool) -> None:
    from twinrun.render.text import run_as_text

    as_json = output_format == "json"
    write(json_text(result.as_json()) if as_json else run_as_text(result, quiet=quiet), output_file)


def rendered(results: Several, output_format: str, *, quiet: bool, colour: bool) -> str:
    """One result, or several, in a format. Each format's own file is imported when it is asked for."""
    if output_format == "html":
        from twinrun.render.html import as_html
        from twinrun.render.several import one_program_only

        one_program_only(html=len(results) > 1)
        return as_html(results[0][1])
    if output_format == "json":
        from twinrun.render.several import as_document

        return json_text(as_document(results))
    if output_format == "junit":
        from twinrun.render.junit import as_junit

        return as_junit(results)
    if output_format == "text":
        from twinrun.render.text import as_text

        texts = [as_text(result, quiet=quiet, colour=colour) for _, result in results]
        if len(results) == 1:
            return texts[0]
        return "\n".join(f"== {name}\n{text}" for (name, _), text in zip(results, texts, strict=True))
    from twinrun.render.summary import annotation

    verdicts = [annotation(*each) for each in results] if output_format == "github" else []
    findings = [finding for _, result in results for finding in result.findings]
    return "".join(verdicts) + findings_text(findings, output_format)


def findings_text(findings: Sequence[Finding], output_format: str) -> str:
    """For the formats that show findings and nothing else."""
    if output_format == "sarif":
        from twinrun.render.sarif import as_sarif

        return as_sarif(findings)
    from twinrun.render.github import as_github

    return as_github(findings)


def json_text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, default=str) + "\n"


def write(text: str, file: str | None) -> None:
    """To a file, or to stdout where there is none."""
    if file is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise CannotWrite(f"cannot write {file}: {problem.strerror}", hint="choose another place") from None
