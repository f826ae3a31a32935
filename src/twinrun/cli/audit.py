"""`twinrun audit`: the source and the input pipeline of a program, without waiting for training to end."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from twinrun.cli.options import RunningVerb
from twinrun.errors import CannotWrite, ProgramNotFound, UsageError

if TYPE_CHECKING:
    from twinrun.audit.result import AuditResult

_FORMATS = ("text", "json", "sarif", "github")


@click.command(cls=RunningVerb)
@click.option(
    "--source-only", is_flag=True, envvar="TWINRUN_SOURCE_ONLY", help="Read the source; run nothing."
)
@click.option(
    "--files", "each", is_flag=True, help="Every argument is a file or folder to read; runs nothing."
)
@click.option("--fix-diff", is_flag=True, help="Print a patch for what can be mended safely.")
@click.option(
    "--output-format",
    type=click.Choice(_FORMATS),
    default="text",
    show_default=True,
    envvar="TWINRUN_OUTPUT_FORMAT",
)
@click.option(
    "--output-file",
    metavar="FILE",
    envvar="TWINRUN_OUTPUT_FILE",
    help="Write the result there instead of to stdout.",
)
@click.option("--quiet", "-q", is_flag=True, envvar="TWINRUN_QUIET", help="The count only.")
@click.option("-m", "module", metavar="MODULE", help="Audit a module, as python -m would run it.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def audit(
    ctx: click.Context,
    /,
    *,
    program: tuple[str, ...],
    module: str | None,
    source_only: bool,
    each: bool,
    fix_diff: bool,
    output_format: str,
    output_file: str | None,
    quiet: bool,
) -> None:
    """Say what in PROGRAM keeps it from repeating, before anything is trained.

    PROGRAM is a script, a folder (every .py file in it), or a module with -m. What follows a script or module
    are its own arguments: the audit takes its options to have the values that this command line gives.

    Exit codes: 0 no findings, 1 findings, 2 could not judge.
    """
    result = _audited(program, module, each=each, source_only=source_only or each)
    if fix_diff:
        patch = result.as_fix_diff()
        if not patch:
            click.echo("hint: nothing was found that can be mended safely by a patch", err=True)
        _write(patch, output_file)
    else:
        _write(_rendered(result, output_format, quiet), output_file)
    ctx.exit(result.exit_code)


def _audited(program: tuple[str, ...], module: str | None, *, each: bool, source_only: bool) -> AuditResult:
    from twinrun.audit.datasets import audit_datasets
    from twinrun.audit.result import audit_result
    from twinrun.audit.source_audit import audit_source, module_file

    if module is None and not program:
        raise UsageError("which program?", hint="twinrun audit train.py, or twinrun audit -m package.train")
    if each:
        return audit_result(" ".join(program), audit_source(program), None)
    if module is not None:
        script, arguments, name = module_file(module), program, f"-m {module}"
    else:
        script, arguments, name = Path(program[0]), program[1:], program[0]
        if not script.exists():
            raise ProgramNotFound(
                f"no such program: {script}", hint="check the path and the working directory"
            )
    if script.is_dir():
        if arguments:
            raise UsageError("a folder takes no arguments", hint="name several files or folders with --files")
        return audit_result(name, audit_source([script]), None)
    source = audit_source([script], arguments)
    found = (
        None if source_only else audit_datasets(module or str(script), arguments, module=module is not None)
    )
    if found is None and not source_only:
        click.echo(
            "hint: only the source was read; the datasets that the program builds were not looked at",
            err=True,
        )
    return audit_result(name, source, found)


def _rendered(result: AuditResult, output_format: str, quiet: bool) -> str:
    if output_format == "json":
        return json.dumps(result.as_json(), indent=1) + "\n"
    if output_format == "text":
        from twinrun.render.audit_text import as_text

        return as_text(result, quiet=quiet)
    if result.reason:
        click.echo(f"error: {result.reason}", err=True)
    if output_format == "sarif":
        from twinrun.render.sarif import as_sarif

        return as_sarif(result.findings)
    from twinrun.render.github import as_github

    return as_github(result.findings)


def _write(text: str, file: str | None) -> None:
    if file is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise CannotWrite(f"cannot write {file}: {problem.strerror}", hint="choose another place") from None
