"""`twinrun audit`: the source and the input pipeline of a program, without waiting for training to end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twinrun.cli.options import PROGRAM, RunningVerb, output_options, shared
from twinrun.errors import ProgramNotFound, UsageError
from twinrun.terminal import inline, say

if TYPE_CHECKING:
    from twinrun.source_audit.audit_result import AuditResult


@click.command(cls=RunningVerb)
@shared(
    "source_only", "files", "fix_diff", "quiet", "verbose",
    quiet={"help": "Print the count only."}, verbose={"help": "Show what led to each finding."},
)  # fmt: skip
@output_options(("text", "json", "sarif", "github"), to="output_file")
@click.option("-m", "module", metavar="MODULE", help="Audit a module, as python -m would run it.")
@PROGRAM
@click.pass_context
def audit(ctx: click.Context, /, source_only: bool, files: bool, **given: Any) -> None:
    """Report what in PROGRAM's source and input pipelines keeps it from repeating.

    PROGRAM is a script, a notebook, a folder (every .py file and notebook in it), or a module with -m. To see its input
    pipelines, it is run for up to three steps; --source-only runs nothing, and a folder is only read. Arguments after the
    script are used as option values in the audit.

    Exit codes: 0 no findings, 1 findings, 2 could not judge.
    """
    from twinrun.render import write_patch
    from twinrun.render.fixdiff import audit_fix_diff

    result = _audited(given["program"], given["module"], files=files, source_only=source_only or files)
    if given["fix_diff"]:
        write_patch(audit_fix_diff(result), given["output_file"])
    else:
        _show(result, given)
    ctx.exit(result.exit_code)


def _audited(program: tuple[str, ...], module: str | None, *, files: bool, source_only: bool) -> AuditResult:
    from twinrun.launch.audit_run import audit_datasets
    from twinrun.launch.program import must_be_readable
    from twinrun.notebooks import is_notebook
    from twinrun.source_audit.audit import audit_source, module_file
    from twinrun.source_audit.audit_result import audit_result

    if not (module or program) or program[:1] == ("",):
        raise UsageError("which program?", hint="twinrun audit train.py, or twinrun audit -m package.train")
    for path in map(Path, program if files else program[: module is None]):
        if is_notebook(path) and path.is_file():
            must_be_readable(path)
    if files:
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
        say("hint: only the source was read; the datasets that the program builds were not audited")
    return audit_result(name, source, found)


def _show(result: AuditResult, given: dict[str, Any]) -> None:
    from twinrun.render import findings_text, show, write
    from twinrun.render.audit_text import as_lines

    output_format, file = given["output_format"], given["output_file"]
    if output_format in ("json", "text"):
        lines = as_lines(result, quiet=given["quiet"], verbose=given["verbose"])
        show(output_format, result.as_json(), lines, file)
        return
    if result.reason:
        say(f"error: {inline(result.reason)}")
    write(findings_text(result.findings, output_format), file)
