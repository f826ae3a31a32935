"""`twinrun run`: one recorded run."""

from __future__ import annotations

import click

from twinrun.cli.options import (
    RunningVerb,
    output_options,
    program_arguments,
    running_options,
    the_pin,
    the_program,
)


@click.command(cls=RunningVerb)
@click.option(
    "--keep-values",
    is_flag=True,
    help="Keep the tensors themselves, so that two runs can be compared by value.",
)
@running_options
@output_options(("text", "json"), html=False)
@program_arguments
@click.pass_context
def run(ctx: click.Context, /, **given: object) -> None:
    """Run PROGRAM once, watched, and keep a recording that `twinrun diff` can compare.

    The exit code is the program's own, or 2 when it could not be watched.
    """
    ctx.exit(run_verb(**given))  # type: ignore[arg-type]


def run_verb(
    *,
    program: tuple[str, ...],
    module: str | None,
    keep_values: bool,
    steps: int | None,
    pin: str | None,
    vary: str | None,
    timeout: float | None,
    detail: bool,
    folder: str | None,
    no_progress: bool,
    quiet: bool,
    output_format: str,
    output_file: str | None,
) -> int:
    from twinrun.cli.progress import screen
    from twinrun.launch.run import RunOptions, run_once
    from twinrun.launch.vary import parse_variation
    from twinrun.render import write_run

    options = RunOptions(
        program=the_program(program, module),
        steps=steps,
        pin=the_pin(pin),
        variation=parse_variation(vary),
        timeout=timeout,
        detail=detail,
        keep_values=keep_values,
        folder=folder,
    )
    result = run_once(options, screen(quiet=quiet or no_progress))
    write_run(result, output_format, output_file, quiet=quiet)
    return result.exit_code
