"""`twinrun check`: the main job."""

from __future__ import annotations

import click

from twinrun.cli.options import RunningVerb, output_options, program_arguments, running_options, seconds, the_pin, the_program


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
def check(ctx: click.Context, **given: object) -> None:
    """Run PROGRAM in twin processes, compare every step, and say whether it repeats.

    Everything after PROGRAM is passed to it. Exit codes: 0 repeats, 1 diverges, 2 could not judge.
    """
    ctx.exit(check_verb(**given))  # type: ignore[arg-type]


def check_verb(
    *,
    program: tuple[str, ...],
    module: str | None,
    runs: int,
    contract: str,
    sequential: bool,
    no_diagnose: bool,
    budget: float,
    fix_diff: bool,
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
    html: str | None,
) -> int:
    from twinrun.cli.progress import screen
    from twinrun.compare.contract import parse_contract
    from twinrun.diagnose.diagnosis import check_and_diagnose
    from twinrun.launch.check import CheckOptions, run_check
    from twinrun.launch.vary import parse_variation
    from twinrun.render import write_result

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
        result = run_check(options, live)
    else:
        result = check_and_diagnose(options, live, budget=budget)
    write_result(result, output_format, output_file, html, quiet=quiet, fix_diff=fix_diff)
    return result.exit_code
