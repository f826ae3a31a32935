"""`twinrun run`: one recorded run."""

from __future__ import annotations

from typing import Any

import click

from twinrun.cli.options import RunningVerb, output_options, program_arguments, shared, the_program
from twinrun.settings import pin_request


@click.command(cls=RunningVerb)
@click.option(
    "--keep-values",
    is_flag=True,
    help="Keep the tensors themselves, so that two runs can be compared by value.",
)
@shared("steps", "pin", "vary", "timeout", "detail", "folder", "no_progress", "quiet")
@output_options(("text", "json"), html=False)
@program_arguments
@click.pass_context
def run(
    ctx: click.Context,
    /,
    *,
    program: tuple[str, ...],
    module: str | None,
    pin: str | None,
    vary: str | None,
    no_progress: bool,
    quiet: bool,
    output_format: str,
    output_file: str | None,
    **given: Any,
) -> None:
    """Run PROGRAM once and keep a recording that `twinrun diff` can compare.

    The exit code is the program's own, or 2 when it could not be instrumented.
    """
    from twinrun.cli.progress import screen
    from twinrun.launch.interventions import parse_interventions
    from twinrun.launch.run import RunOptions, run_once
    from twinrun.render import write_run

    interventions = parse_interventions(pin=pin_request(pin), vary=vary)
    options = RunOptions(the_program(program, module), interventions=interventions, **given)
    result = run_once(options, screen(quiet=quiet or no_progress))
    write_run(result, output_format, output_file, quiet=quiet)
    ctx.exit(result.exit_code)
