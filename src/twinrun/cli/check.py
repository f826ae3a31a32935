"""`twinrun check`: the main job."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from twinrun.cli.options import RunningVerb, output_options, program_arguments, shared, the_program
from twinrun.errors import BadResult, UsageError
from twinrun.settings import ACROSS_DEVICES, OPTIONS
from twinrun.terminal import draw, inline, say
from twinrun.trackers import TITLES

if TYPE_CHECKING:
    from twinrun.cli.progress import Known
    from twinrun.engines.ray_cluster import RayRequest
    from twinrun.result import CheckResult

CHECKED = (
    "runs", "workers", "replicas", "worker_timeout", "contract", "sequential", "freeze", "stress", "trace_ops", "trace_pipeline",
    "steps", "follow", "pin", "vary", "devices", "timeout", "detail", "folder", "keep", "keep_files", "dump_limit",
    "ignore_output", "show_arguments",
)  # fmt: skip
CONTRACT = {
    "default": None,
    "help": f"{OPTIONS['contract'].help}  [default: bitwise; with --devices {ACROSS_DEVICES}]",
}
_ON_RAY = ("ray_address", "cpus_per_run", "gpus_per_run")
_SHOWN = ("output_format", "output_file", "html", "quiet", "verbose", "fix_diff")


@click.command(cls=RunningVerb)
@shared(
    *CHECKED, "engine", *_ON_RAY, "no_diagnose", "budget", "resume_diagnosis", "no_progress", "quiet", "verbose", "fix_diff",
    contract=CONTRACT,
)  # fmt: skip
@output_options()
@shared(*TITLES)
@program_arguments
@click.pass_context
def check(ctx: click.Context, /, **given: Any) -> None:
    """Run PROGRAM in twin processes, compare every step, and report whether it repeats.

    PROGRAM is a script, a notebook (with the extra: pip install "twinrun[notebook]"), or a module with -m. Everything after
    it is passed to it. Exit codes: 0 repeats, 1 diverges, 2 could not judge.
    """
    from twinrun.cli.programs import all_wanted, left_by, one_or_all, worst
    from twinrun.publish.send import asked_for, send
    from twinrun.render import write_results
    from twinrun.render.several import CHECKS, as_document, one_program_only
    from twinrun.render.text import verdict_lines

    trackers = asked_for(given)
    if given["resume_diagnosis"] and all_wanted(given):
        given |= _as_before(given["resume_diagnosis"])
    if all_wanted(given):
        html = given["html"] or given["output_format"] == "html"
        one_program_only(html=html, fix_diff=given["fix_diff"], keep_files=given["keep_files"])
    begun: list[CheckResult] = []

    def begin(result: CheckResult) -> None:
        """The verdict, as soon as it is known, where it begins what is printed."""
        if given["output_format"] == "text" and not (
            all_wanted(given) or given["output_file"] or given["fix_diff"]
        ):
            draw(verdict_lines(result, quiet=given["quiet"]))
            begun.append(result)

    results, interrupted = left_by(lambda: one_or_all(given, partial(_checked, begin)))
    shown = {name: given[name] for name in _SHOWN}
    write_results(results, **shown, begun=bool(begun))
    if trackers and not interrupted:
        send(as_document(results, CHECKS), trackers)
    ctx.exit(interrupted or worst([result.exit_code for _, result in results]))


def _checked(known: Known, program: tuple[str, ...], module: str | None, **given: Any) -> CheckResult:
    from twinrun.cli.progress import screen
    from twinrun.diagnose.diagnosis import check_and_diagnose, resume_diagnosis
    from twinrun.launch.check import run_check
    from twinrun.settings import check_options

    options = check_options(the_program(program, module), **{name: given[name] for name in CHECKED})
    on_ray = _on_ray(given)
    live = screen(given["quiet"] or given["no_progress"], known)
    if on_ray is not None:
        from twinrun.engines.check import check_on_ray

        return check_on_ray(options, on_ray, live)
    if given["no_diagnose"]:
        return run_check(options, live)
    saved_as = given["output_file"] if given["output_format"] == "json" else None
    if given["resume_diagnosis"]:
        return resume_diagnosis(options, _saved(given["resume_diagnosis"]), live, given["budget"], saved_as)
    return check_and_diagnose(options, live, given["budget"], saved_as)


def _on_ray(given: dict[str, Any]) -> RayRequest | None:
    """What a cluster is asked for; None where the runs are made here."""
    if given["engine"] != "ray":
        for name in _ON_RAY:
            if given[name] is not None:
                raise UsageError(f"--{name.replace('_', '-')} requires --engine ray", hint="add --engine ray")
        return None
    if given["resume_diagnosis"]:
        raise UsageError("--resume-diagnosis does not work with --engine ray", hint="leave out --engine")
    from twinrun.engines.ray_cluster import RayRequest

    return RayRequest(given["ray_address"], given["cpus_per_run"] or 1, given["gpus_per_run"] or 0)


def _as_before(file: str) -> dict[str, Any]:
    """The program and the options of the check whose result was saved there."""
    import shlex

    from twinrun.masking import MASK

    diagnosis = _saved(file).diagnosis
    if diagnosis is None:
        raise UsageError(f"{file} holds no diagnosis", hint="give the result of a check that diverges")
    try:
        words = shlex.split(diagnosis.command)[2:]
    except ValueError as problem:
        raise BadResult(f"the command of this result is damaged: {problem}", where=file) from None
    if any(MASK in word for word in words):
        hint = "give the program and its arguments again, after the options"
        raise UsageError("an argument of the program may be secret, and was not saved", hint=hint)
    say(f"resuming: {inline(diagnosis.command)}")
    with check.make_context("check", words) as context:
        return {name: context.params[name] for name in (*CHECKED, "program", "module")}


def _saved(file: str) -> CheckResult:
    from twinrun.cli.report import read_document
    from twinrun.result import CheckResult

    return CheckResult.from_json(read_document(file), where=file)
