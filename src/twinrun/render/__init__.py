"""Rendering: one result, many views. Each format is a file here; this one chooses and writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinrun import terminal
from twinrun.errors import CannotWrite
from twinrun.terminal import Lines, draw, inline, say, text_of
from twinrun.whole_file import replace_file

if TYPE_CHECKING:
    from twinrun.findings.finding import Finding
    from twinrun.result import CheckResult

    Several = Sequence[tuple[str, CheckResult]]  # with the name of each program


def write_results(
    results: Several,
    *,
    output_format: str,
    output_file: str | None = None,
    html: str | None = None,
    quiet: bool = False,
    verbose: bool = False,
    fix_diff: bool = False,
    together: str = "twinrun/check-all/1",
    begun: bool = False,
) -> None:
    """One result, or those of several named programs together, in a document of that schema. `begun`: the verdict of the
    one has been printed."""
    if output_format == "github":
        from twinrun.render.summary import write_summary

        write_summary(results)
    if html:
        write(rendered(results, "html"), html)
    if fix_diff:
        from twinrun.render.fixdiff import as_fix_diff

        write_patch(as_fix_diff(results[0][1]), output_file)
        return
    if output_format == "text" and output_file is None:
        from twinrun.render import several, text

        if not begun:
            draw(several.as_lines(results, together, quiet=quiet, verbose=verbose))
        elif not quiet:
            draw(text.cause_lines(results[0][1], verbose=verbose))
        return
    write(rendered(results, output_format, quiet=quiet, verbose=verbose, together=together), output_file)


def write_patch(patch: bytes, file: str | None) -> None:
    """A patch of source that nobody has run with it."""
    if patch:
        say("note: not run with this patch; twinrun fix proves one")
    else:
        say("hint: nothing was found that can be fixed automatically")
    note_cells(patch)
    note_secrets(patch)
    write(patch, file)


def note_cells(patch: bytes) -> None:
    from twinrun.findings.fixes.diff import shows_cells

    if shows_cells(patch):
        say(
            "note: the patch shows the cells of a notebook; twinrun fix --write changes them, git apply cannot"
        )


def note_secrets(patch: bytes) -> None:
    """A patch quotes the source as it is, or it could not be applied: it cannot be masked."""
    from twinrun.masking import mask

    text = patch.decode("utf-8", "replace")
    if mask(text) != text:
        say("note: the patch quotes lines of the source that may hold a credential")


def rendered(
    results: Several, output_format: str, *, quiet: bool = False, verbose: bool = False, together: str = ""
) -> str:
    """One result, or several, in a format. Each format's own file is imported when it is asked for."""
    from twinrun.render import several

    if output_format == "html":
        from twinrun.render.html import as_html

        several.one_program_only(html=len(results) > 1)
        return as_html(results[0][1])
    if output_format == "json":
        return json_text(several.as_document(results, together))
    if output_format == "junit":
        from twinrun.render.junit import as_junit

        return as_junit(results)
    if output_format == "text":
        return text_of(several.as_lines(results, together, quiet=quiet, verbose=verbose))
    from twinrun.render.summary import annotation

    verdicts = [annotation(*each) for each in results] if output_format == "github" else []
    findings = [finding for _, result in results for finding in result.findings]
    return "".join(verdicts) + findings_text(findings, output_format)


def findings_text(findings: Sequence[Finding], output_format: str) -> str:
    """Findings in one of the formats that show nothing else."""
    if output_format == "sarif":
        from twinrun.render.sarif import as_sarif

        return as_sarif(findings)
    from twinrun.render.github import as_github

    return as_github(findings)


def show(output_format: str, document: dict[str, Any], lines: Lines, output_file: str | None = None) -> None:
    """The answer of a verb that does not compare runs: its document, or its lines."""
    if output_format == "text" and output_file is None:
        draw(lines)
        return
    write(json_text(document) if output_format == "json" else text_of(lines), output_file)


def json_text(document: dict[str, Any]) -> str:
    """JSON in ASCII, without the one control character that JSON leaves as it is."""
    return json.dumps(document, indent=1, default=str).replace("\x7f", "\\u007f") + "\n"


def write(content: str | bytes, file: str | None = None) -> None:
    """Write to a file, whole or not at all, or to stdout where there is none."""
    if file is None:
        terminal.write(content)
        return
    try:
        replace_file(Path(file), content.encode() if isinstance(content, str) else content)
        say(f"wrote {inline(file)}")
    except OSError as problem:
        raise CannotWrite(f"cannot write {file}: {problem.strerror}", hint="choose another place") from None
