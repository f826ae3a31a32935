"""`twinrun check`: the main job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from twinrun.cli.options import RunningVerb, output_options, program_arguments, shared, the_program

if TYPE_CHECKING:
    from twinrun.result import CheckResult

_CHECKED = (
    "runs", "contract", "sequential", "freeze", "stress", "trace_ops", "trace_pipeline",
    "steps", "pin", "vary", "timeout", "detail", "folder", "keep_files",
    "ignore_output",
)  # fmt: skip


@click.command(cls=RunningVerb)
@shared(*_CHECKED, "no_diagnose", "budget", "no_progress", "quiet", "fix_diff")
@output_options()
@program_arguments
@click.pass_context
def check(ctx: click.Context, /, **given: Any) -> None:
    """Run PROGRAM in twin processes, compare every step, and report whether it repeats.

    Everything after PROGRAM is passed to it. Exit codes: 0 repeats, 1 diverges, 2 could not judge.
    """
    from twinrun.cli.programs import all_wanted, one_or_all, worst
    from twinrun.render import write_results
    from twinrun.render.several import one_program_only

    if all_wanted(given):
        one_program_only(html=given["html"], fix_diff=given["fix_diff"], keep_files=given["keep_files"])
    results = one_or_all(given, _checked)
    shown = {name: given[name] for name in ("output_format", "output_file", "html", "quiet", "fix_diff")}
    write_results(results, **shown)
    ctx.exit(worst([result.exit_code for _, result in results]))


def _checked(program: tuple[str, ...], module: str | None, **given: Any) -> CheckResult:
    from twinrun.cli.progress import screen
    from twinrun.diagnose.diagnosis import check_and_diagnose
    from twinrun.launch.check import run_check
    from twinrun.settings import check_options

    options = check_options(the_program(program, module), **{name: given[name] for name in _CHECKED})
    live = screen(quiet=given["quiet"] or given["no_progress"])
    if given["no_diagnose"]:
        return run_check(options, live)
    return check_and_diagnose(options, live, budget=given["budget"])
