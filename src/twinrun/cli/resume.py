"""`twinrun resume`: does a program that is stopped and started again end where it would have?"""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import click

from twinrun.cli.options import RunningVerb, output_options, program_arguments, shared, the_program
from twinrun.settings import pin_request


@click.command(cls=RunningVerb)
@shared(
    "at", "signal", "most", "pin", "timeout", "folder", "keep", "show_arguments", "no_progress", "quiet",
    timeout={"help": "Give up on a run after this long (90s, 5m)."},
)  # fmt: skip
@output_options(("text", "json"), to="output_file")
@program_arguments
@click.pass_context
def resume(ctx: click.Context, /, program: tuple[str, ...], module: str | None, **given: Any) -> None:
    """Stop PROGRAM, start it again, and compare it step by step with the uninterrupted run.

    PROGRAM saves and restores by its own means. What was not restored is named, with what to write so that it is.
    Exit codes: 0 resumed equals uninterrupted, 1 it differs, 2 could not judge.
    """
    from twinrun.cli.programs import left_by
    from twinrun.cli.progress import screen
    from twinrun.launch.interventions import parse_interventions
    from twinrun.render import show
    from twinrun.render.resume_text import as_lines
    from twinrun.resume.options import ResumeOptions, parse_at
    from twinrun.resume.run import run_resume
    from twinrun.terminal import draw

    target = replace(the_program(program, module), show_arguments=given["show_arguments"])
    options = ResumeOptions(
        target,
        parse_at(given["at"]),
        signal.Signals[given["signal"]],
        given["most"],
        parse_interventions(pin=pin_request(given["pin"])),
        given["timeout"],
        given["folder"],
        given["keep"],
    )
    live = screen(quiet=given["quiet"] or given["no_progress"], lines=True)
    [(_, result)], interrupted = left_by(lambda: [("", run_resume(options, live))])
    lines = as_lines(result, quiet=given["quiet"])
    if given["output_format"] == "text" and given["output_file"] is None:
        draw(lines)
    else:
        show(given["output_format"], result.as_json(), lines, given["output_file"])
    ctx.exit(interrupted or result.exit_code)
