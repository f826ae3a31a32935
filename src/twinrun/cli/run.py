"""`twinrun run`: one recorded run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from twinrun.cli.options import RunningVerb, output_options, program_arguments, shared, the_program
from twinrun.settings import VARIATIONS, pin_request


@click.command(cls=RunningVerb)
@shared(
    "keep_values",
    "steps",
    "pin",
    "vary",
    "timeout",
    "detail",
    "folder",
    "keep",
    "show_arguments",
    "no_progress",
    "quiet",
    vary={"help": f"Apply these variations to this run: {VARIATIONS}."},
    no_progress={"help": "Do not show what the program prints."},
    quiet={"help": "Print only the recording's folder."},
)
@output_options(("text", "json"), to="output_file")
@program_arguments
@click.pass_context
def run(ctx: click.Context, /, program: tuple[str, ...], module: str | None, **given: Any) -> None:
    """Run PROGRAM once and keep a recording that `twinrun diff` can compare.

    PROGRAM is a script, a notebook, or a module with -m. The program's output goes to stderr and to the recording. The exit code is the program's
    own, or 2 if it could not be instrumented or no training was observed.
    """
    from twinrun.cli.programs import left_by
    from twinrun.cli.progress import ProgramOutput
    from twinrun.launch.interventions import parse_interventions
    from twinrun.launch.options import Screen
    from twinrun.launch.run import RunOptions, run_once
    from twinrun.render import show
    from twinrun.render.text import run_lines

    interventions = parse_interventions(pin=pin_request(given["pin"]), vary=given["vary"])
    how = {name: given[name] for name in ("keep_values", "steps", "timeout", "detail", "folder", "keep")}
    target = replace(the_program(program, module), show_arguments=given["show_arguments"])
    options = RunOptions(target, interventions=interventions, **how)
    silent = given["quiet"] or given["no_progress"]
    live = Screen() if silent else ProgramOutput(target.shown)
    [(_, result)], _ = left_by(lambda: [("", run_once(options, live))])
    lines = run_lines(result, quiet=given["quiet"])
    show(given["output_format"], result.as_json(), lines, given["output_file"])
    ctx.exit(result.exit_code)
