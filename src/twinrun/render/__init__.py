"""Rendering: one result, many views. Each format is a file here; this one chooses and writes."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinrun.errors import CannotWrite

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
    fix_diff: bool = False,
    together: str = "twinrun/check-all/1",
) -> None:
    """One result, or those of several named programs together, in a document of that schema."""
    if output_format == "github":
        from twinrun.render.summary import write_summary

        write_summary(results)
    if html:
        write(rendered(results, "html"), html)
    if fix_diff:
        from twinrun.render.fixdiff import as_fix_diff

        write_patch(as_fix_diff(results[0][1]), output_file)
        return
    text = rendered(results, output_format, quiet=quiet, colour=output_file is None, together=together)
    write(text, output_file)


def write_patch(patch: bytes, file: str | None) -> None:
    """A patch of source that nobody has run with it."""
    if patch:
        sys.stderr.write("note: not run with this patch; twinrun fix proves one\n")
    else:
        sys.stderr.write("hint: nothing was found that can be fixed automatically\n")
    note_secrets(patch)
    write(patch, file)


def note_secrets(patch: bytes) -> None:
    """A patch quotes the source as it is, or it could not be applied: it cannot be masked."""
    from twinrun.masking import mask

    text = patch.decode("utf-8", "replace")
    if mask(text) != text:
        sys.stderr.write("note: the patch quotes lines of the source that may hold a credential\n")


def rendered(
    results: Several, output_format: str, *, quiet: bool = False, colour: bool = False, together: str = ""
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
        return several.as_text(results, together, quiet=quiet, colour=colour)
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


def show(
    output_format: str, document: dict[str, Any], lines: Iterable[str], output_file: str | None = None
) -> None:
    """The answer of a verb that does not compare runs: its document, or its lines."""
    as_json = output_format == "json"
    write(json_text(document) if as_json else "".join(f"{line}\n" for line in lines), output_file)


def json_text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, default=str) + "\n"


def write(content: str | bytes, file: str | None = None) -> None:
    """To a file, or to stdout where there is none. Bytes are written as they are: a patch has the encodings of the files
    that it is for."""
    if file is None:
        try:
            sys.stdout.flush()
            if isinstance(content, str):
                sys.stdout.write(content)
            else:
                sys.stdout.buffer.write(content)
            sys.stdout.flush()
        except OSError as problem:
            if problem.errno == errno.EIO:  # of a terminal that has hung up
                raise BrokenPipeError from None
            raise
        return
    try:
        Path(file).write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as problem:
        raise CannotWrite(f"cannot write {file}: {problem.strerror}", hint="choose another place") from None
