"""`twinrun check`: the main job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from twinrun.cli.options import (
    RunningVerb,
    output_options,
    program_arguments,
    running_options,
    seconds,
    the_pin,
    the_program,
)

if TYPE_CHECKING:
    from twinrun.result import CheckResult


@click.command(cls=RunningVerb)
@click.option(
    "--runs",
    type=click.IntRange(min=2),
    default=2,
    show_default=True,
    envvar="TWINRUN_RUNS",
    help="Number of twins.",
)
@click.option("--contract", default="bitwise", show_default=True, envvar="TWINRUN_CONTRACT",
              help="bitwise, ulp=N, rtol=…,atol=…, or band=loss:1e-3,accuracy:0.5%.")  # fmt: skip
@click.option(
    "--sequential",
    is_flag=True,
    envvar="TWINRUN_SEQUENTIAL",
    help="One twin after the other, for large models.",
)
@click.option(
    "--no-diagnose",
    is_flag=True,
    envvar="TWINRUN_NO_DIAGNOSE",
    help="Say where the twins differ, do not look for the cause.",
)
@click.option("--budget", callback=seconds, default="120s", show_default=True, envvar="TWINRUN_BUDGET", metavar="TIME",
              help="Time for the diagnosis.")  # fmt: skip
@click.option("--hold-still", multiple=True, metavar="KIND:FILE:LINE",
              help="Make one source give the same in every run, as an experiment of the diagnosis does.")  # fmt: skip
@click.option(
    "--trace-ops",
    is_flag=True,
    help="Run functions eagerly and compare the step at hand op by op, as a diagnosis does.",
)
@click.option(
    "--trace-pipeline",
    is_flag=True,
    help="The same for the functions of the input pipeline.",
)
@click.option("--fix-diff", is_flag=True, help="Print a patch for the causes that can be mended safely.")
@running_options
@output_options()
@program_arguments
@click.pass_context
def check(ctx: click.Context, /, **given: Any) -> None:
    """Run PROGRAM in twin processes, compare every step, and say whether it repeats.

    Everything after PROGRAM is passed to it. Exit codes: 0 repeats, 1 diverges, 2 could not judge.
    """
    ctx.exit(check_verb(**given))


def check_verb(**given: Any) -> int:
    from twinrun.cli.programs import all_wanted, one_or_all, worst
    from twinrun.render import write_results
    from twinrun.render.several import one_program_only

    if all_wanted(given):
        one_program_only(html=given["html"], fix_diff=given["fix_diff"])
    results = one_or_all(given, checked)
    shown = {name: given[name] for name in ("output_format", "output_file", "html", "quiet", "fix_diff")}
    write_results(results, **shown)
    return worst([result.exit_code for _, result in results])


def checked(
    *,
    program: tuple[str, ...],
    module: str | None,
    runs: int,
    contract: str,
    sequential: bool,
    no_diagnose: bool,
    budget: float,
    hold_still: tuple[str, ...],
    trace_ops: bool,
    trace_pipeline: bool,
    steps: int | None,
    pin: str | None,
    vary: str | None,
    timeout: float | None,
    detail: bool,
    folder: str | None,
    no_progress: bool,
    quiet: bool,
    **_: Any,  # how to show it, which is not the check's own business
) -> CheckResult:
    from twinrun.cli.progress import screen
    from twinrun.comparison.contract import parse_contract
    from twinrun.diagnose.diagnosis import check_and_diagnose
    from twinrun.launch.check import run_check
    from twinrun.launch.options import CheckOptions
    from twinrun.launch.vary import parse_variation

    options = CheckOptions(
        program=the_program(program, module),
        runs=runs,
        steps=steps,
        contract=parse_contract(contract),
        pin=the_pin(pin),
        variation=parse_variation(vary),
        sequential=sequential,
        timeout=timeout,
        detail=detail,
        folder=folder,
        experiment=experiment_settings(hold_still, "pipeline" if trace_pipeline else trace_ops),
    )
    live = screen(quiet=quiet or no_progress)
    if no_diagnose:
        return run_check(options, live)
    return check_and_diagnose(options, live, budget=budget)


def experiment_settings(hold_still: tuple[str, ...], trace_ops: bool | str) -> dict[str, object]:
    """`numpy:train.py:12` holds the draws of that line still; `addresses` all that id() gives."""
    from pathlib import Path

    from twinrun.errors import UsageError

    settings: dict[str, object] = {}
    steady = []
    for text in hold_still:
        place, _, line = text.rpartition(":")
        kind, _, file = place.rpartition(":")  # a kind may have a colon of its own: seed:numpy
        if text == "addresses":
            settings["addresses"] = True
        elif kind and file and line.isdigit():
            steady.append([kind, str(Path(file).absolute()), int(line)])
        else:
            raise UsageError(
                f"--hold-still takes KIND:FILE:LINE, not {text!r}",
                hint="the experiments of a diagnosis show how",
            )
    if steady:
        settings["steady"] = steady
    if trace_ops:
        settings["trace_ops"] = trace_ops
    return settings
