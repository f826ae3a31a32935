"""`twinrun baseline`: record, check, accept and list the baselines of programs, each under its environment's
key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from twinrun.cli.late import BaselineVerb
from twinrun.cli.options import output_options, program_arguments, seconds, the_pin, the_program

if TYPE_CHECKING:
    from twinrun.baselines.observed import Observed
    from twinrun.baselines.program import Running
    from twinrun.baselines.result import BaselineResult
    from twinrun.baselines.store import Store
    from twinrun.baselines.verbs import Listed
    from twinrun.result import CheckResult

NAME = click.option("--name", help="The baseline's name; without one, all that pyproject.toml names.")
STORE = click.option("--store", envvar="TWINRUN_BASELINES", help="Folder or fsspec address of the baselines.")
STEPS = click.option("--steps", type=click.IntRange(min=1), help="Stop after this many steps.")
PIN = click.option("--pin", metavar="[=SEED]", help="Pin every source of randomness.")
TIMEOUT = click.option(
    "--timeout", callback=seconds, metavar="TIME", help="Give up after this long (90s, 5m)."
)
RECORDING = click.option(
    "--recording", metavar="FOLDER", help="Use this recording instead of running a program."
)
RUNS = click.option(
    "--runs", type=click.IntRange(min=1), default=2, show_default=True, help="Runs that must agree."
)
QUIET = click.option("--quiet", "-q", is_flag=True, help="The verdict only.")


@click.group()
def baseline() -> None:
    """Baselines: a run kept as a small text file for each environment, and CI that compares with it."""


@baseline.command(cls=BaselineVerb)
@NAME
@STORE
@click.option("--contract", default="bitwise", show_default=True, help="How equal later runs must be.")
@STEPS
@PIN
@TIMEOUT
@RUNS
@RECORDING
@QUIET
@output_options(("text", "json"))
@program_arguments
@click.pass_context
def record(ctx: click.Context, /, **given: Any) -> None:
    """Run PROGRAM until twins agree, and keep it as the baseline NAME of this environment.

    Exit codes: 0 recorded, 1 the program does not repeat, 2 could not be recorded.
    """
    ctx.exit(_each(given, lambda one: _made(one, reason=None)))


@baseline.command(cls=BaselineVerb)
@NAME
@STORE
@click.option("--reason", required=True, help="Why the change is right; kept in the baseline's history.")
@click.option("--contract", help="Another contract; the baseline's own by default.")
@STEPS
@PIN
@TIMEOUT
@RUNS
@RECORDING
@QUIET
@output_options(("text", "json"))
@program_arguments
@click.pass_context
def accept(ctx: click.Context, /, **given: Any) -> None:
    """Run PROGRAM and replace the baseline NAME of this environment, with a reason that is kept."""
    reason = str(given.pop("reason"))
    ctx.exit(_each(given, lambda one: _made(one, reason)))


@baseline.command(cls=BaselineVerb)
@NAME
@STORE
@STEPS
@PIN
@TIMEOUT
@RECORDING
@click.option("--no-rerun", is_flag=True, help="When it fails, do not run again to see whether it repeats.")
@QUIET
@output_options()
@program_arguments
@click.pass_context
def check(ctx: click.Context, /, **given: Any) -> None:
    """Run PROGRAM once and compare it with the baseline NAME of this environment.

    Exit codes: 0 within the contract, 1 left it, 2 could not be judged (no baseline for this environment).
    """
    ctx.exit(_each(given, _checked))


@baseline.command(name="list")
@click.argument("name", required=False)
@STORE
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def list_(ctx: click.Context, name: str | None, store: str | None, output_format: str) -> None:
    """List the baselines, of NAME or of all names. Exit 2 when one of them is damaged."""
    from twinrun.baselines.verbs import listing

    place = _store(store)
    found = listing(place, name)
    if output_format == "json":
        entries = [_listed(each) for each in found]
        document = {"schema": "twinrun/baseline-list/1", "store": place.location, "baselines": entries}
        click.echo(json.dumps(document, indent=1))
    elif not found:
        click.echo(f"no baselines in {place.location}", err=True)
    else:
        from twinrun.render.text import printable

        for each in found:
            click.echo(printable(_line(each)))
    ctx.exit(2 if any(each.problem for each in found) else 0)


Outcome: TypeAlias = "BaselineResult | CheckResult"


def _each(given: dict[str, Any], one: Callable[[dict[str, Any]], Outcome]) -> int:
    """The baseline that was named, or that of every configured program that has one."""
    from twinrun.cli.programs import all_wanted, configured, worst
    from twinrun.errors import UsageError

    if given["name"] is not None:
        outcome = one(given)
        _write_one(outcome, given)
        return outcome.exit_code
    named = [each for each in configured() if each.baseline is not None]
    if not all_wanted(given) or not named:
        raise UsageError(
            "which baseline?",
            hint="give --name, or `baseline = true` in [tool.twinrun.programs.NAME] of pyproject.toml",
        )
    outcomes = []
    for each in named:
        click.echo(f"{each.name}: {each.words}", err=True)
        outcomes.append((each.name, one({**each.given(given), "name": each.baseline})))
    _write_several(outcomes, given)
    return worst([outcome.exit_code for _, outcome in outcomes])


def _made(given: dict[str, Any], reason: str | None) -> Outcome:
    """Record, or accept when there is a reason."""
    from twinrun.baselines import verbs
    from twinrun.baselines.program import observe, observe_twice
    from twinrun.baselines.store import checked_name
    from twinrun.result import CheckResult

    name, store = checked_name(given["name"]), _store(given["store"])
    if reason is not None:
        _take_over(given, verbs.find(store, name))
    contract = given["contract"] or "bitwise"
    if given["recording"]:
        from twinrun.baselines.observed import from_recording

        observed: Observed | CheckResult = from_recording(Path(given["recording"]))
    else:
        running = _running(given, contract)
        screen = _screen(given)
        runs = int(given["runs"])
        observed = observe_twice(running, runs, screen) if runs > 1 else observe(running, screen)
    if isinstance(observed, CheckResult):
        return observed
    if reason is None:
        return verbs.record(store, name, contract, observed)
    return verbs.accept(store, name, reason, observed, given["contract"])


def _checked(given: dict[str, Any]) -> Outcome:
    from twinrun.baselines import verbs
    from twinrun.baselines.observed import from_recording
    from twinrun.baselines.program import observe
    from twinrun.baselines.store import checked_name
    from twinrun.result import CheckResult

    name, store = checked_name(given["name"]), _store(given["store"])
    known = verbs.find(store, name)
    _take_over(given, known)
    if given["recording"]:
        return verbs.check(store, name, from_recording(Path(given["recording"])))
    # Any baseline of this name says whether values are needed; which one applies is known only after the run.
    numeric = next(
        (each.contract for each in known if "=" in each.contract and "band" not in each.contract), None
    )
    running = _running(given, numeric or "bitwise")
    observed = observe(running, _screen(given))
    if isinstance(observed, CheckResult):
        return observed

    def again() -> Observed | None:
        second = observe(running, _screen(given))
        return None if isinstance(second, CheckResult) else second

    return verbs.check(store, name, observed, None if given["no_rerun"] else again)


def _take_over(given: dict[str, Any], known: list[Any]) -> None:
    """What was not said now is as it was when the baseline was recorded: program, steps and pin."""
    if not known:
        return
    latest = max(known, key=lambda each: each.recorded)
    if given["steps"] is None:
        given["steps"] = latest.steps
    if given["pin"] is None and latest.pin is not None:
        given["pin"] = latest.pin
    if not given["program"] and given["module"] is None and not given["recording"]:
        from twinrun.environment.secrets import MASK
        from twinrun.errors import UsageError

        if MASK in latest.arguments:
            raise UsageError(
                "the baseline does not know all its arguments: some were masked", hint="name the program"
            )
        if latest.program.startswith("-m "):
            given["module"], given["program"] = latest.program[3:], latest.arguments
        else:
            given["program"] = (latest.program, *latest.arguments)


def _running(given: dict[str, Any], contract: str) -> Running:
    from twinrun.baselines.program import Running
    from twinrun.comparison.contract import parse_contract

    return Running(
        program=the_program(tuple(given["program"]), given["module"]),
        contract=parse_contract(contract),
        steps=given["steps"],
        pin=the_pin(given["pin"]),
        timeout=given["timeout"],
    )


def _store(location: str | None) -> Store:
    from twinrun.baselines.store import open_store
    from twinrun.cli.options import project_table

    configured = project_table().get("baselines")
    return open_store(location or (configured if isinstance(configured, str) else None))


def _screen(given: dict[str, Any]) -> Any:
    from twinrun.cli.progress import screen

    return screen(quiet=bool(given["quiet"]))


def _write_one(outcome: Outcome, given: dict[str, Any]) -> None:
    from twinrun.baselines.text import write_baseline_result
    from twinrun.render import write_results
    from twinrun.result import CheckResult

    if isinstance(outcome, CheckResult):
        # The program did not run, or does not repeat: nothing was recorded, nothing could be compared.
        shown: dict[str, Any] = {
            name: given.get(name) for name in ("output_format", "output_file", "html", "quiet")
        }
        write_results([(given["name"], outcome)], **shown)
        if outcome.exit_code == 1:
            click.echo("hint: nothing was recorded; `twinrun check` names the cause", err=True)
        return
    if given["output_format"] == "github":
        from twinrun.render.summary import write_summary

        write_summary([(given["name"], outcome.check)])
    how = (given["output_format"], given["output_file"], given.get("html"))
    write_baseline_result(outcome, *how, quiet=given["quiet"])


def _write_several(outcomes: list[tuple[str, Outcome]], given: dict[str, Any]) -> None:
    """Text and JSON say what a baseline adds; the other formats show the checks inside."""
    from twinrun.baselines.text import several_as_text, write
    from twinrun.render import write_results
    from twinrun.result import CheckResult

    if given["output_format"] in ("text", "json"):
        text = several_as_text(outcomes, given["output_format"], quiet=given["quiet"])
        write(text, given["output_file"])
        return
    checks = [(name, each if isinstance(each, CheckResult) else each.check) for name, each in outcomes]
    write_results(checks, output_format=given["output_format"], output_file=given["output_file"], html=None)


def _listed(each: Listed) -> dict[str, Any]:
    if each.baseline is None:
        return {"name": each.name, "file": each.file, "problem": each.problem}
    from twinrun.baselines.file import number

    kept = each.baseline
    return {
        "name": each.name,
        "file": each.file,
        "key": kept.environment.name,
        "contract": kept.contract,
        "program": kept.program,
        "recorded": kept.recorded,
        "last_step": kept.last_step,
        "metrics": {name: number(value) for name, value in kept.metrics.items()},
        "history": list(kept.history),
        "problem": None,
    }


def _line(each: Listed) -> str:
    if each.baseline is None:
        return f"{each.name}  DAMAGED  {each.problem}"
    kept = each.baseline
    parts = [each.name, kept.environment.name, kept.contract, f"{kept.last_step} steps", kept.recorded]
    return "  ".join(parts) + (f", accepted {len(kept.history)} times" if kept.history else "")
