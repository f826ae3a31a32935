"""`twinrun check`: the main job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from twinrun.cli.options import RunningVerb, output_options, program_arguments, running_options, seconds, the_pin, the_program

if TYPE_CHECKING:
    from twinrun.result import CheckResult


@click.command(cls=RunningVerb)
@click.option("--runs", type=click.IntRange(min=2), default=2, show_default=True, envvar="TWINRUN_RUNS", help="Number of twins.")
@click.option("--contract", default="bitwise", show_default=True, envvar="TWINRUN_CONTRACT",
              help="bitwise, ulp=N, rtol=…,atol=…, or band=loss:1e-3,accuracy:0.5%.")  # fmt: skip
@click.option("--sequential", is_flag=True, envvar="TWINRUN_SEQUENTIAL", help="One twin after the other, for large models.")
@click.option("--no-diagnose", is_flag=True, envvar="TWINRUN_NO_DIAGNOSE", help="Say where the twins differ, do not look for the cause.")
@click.option("--budget", callback=seconds, default="120s", show_default=True, envvar="TWINRUN_BUDGET", metavar="TIME",
              help="Time for the diagnosis.")  # fmt: skip
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
    from twinrun.compare.contract import parse_contract
    from twinrun.diagnose.diagnosis import check_and_diagnose
    from twinrun.launch.check import CheckOptions, run_check
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
    )
    live = screen(quiet=quiet or no_progress)
    if no_diagnose:
        return run_check(options, live)
    return check_and_diagnose(options, live, budget=budget)
