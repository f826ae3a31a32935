"""`twinrun baseline`: record, check, accept and list the baselines of programs, each under its environment's
key."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twinrun.cli.options import BaselineVerb, output_options, program_arguments, seconds, the_pin, the_program

if TYPE_CHECKING:
    from twinrun.baselines.kept_run import KeptRun
    from twinrun.baselines.report import Outcome
    from twinrun.baselines.running import Running
    from twinrun.baselines.store import Store
    from twinrun.baselines.verbs import Listed

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

STORE = click.option("--store", envvar="TWINRUN_BASELINES", help="Folder or fsspec address of the baselines.")
RUNS = click.option(
    "--runs", type=click.IntRange(min=1), default=2, show_default=True, help="Runs that must agree."
)


def running_verb(*own: Decorator, formats: tuple[str, ...] = ("text", "json")) -> Decorator:
    """The options of a verb that runs a program, with its own ones among them."""
    options: tuple[Decorator, ...] = (
        click.option("--name", help="The baseline's name; without one, all that pyproject.toml names."),
        STORE,
        *own,
        click.option("--steps", type=click.IntRange(min=1), help="Stop after this many steps."),
        click.option("--pin", metavar="[=SEED]", help="Pin every source of randomness."),
        click.option(
            "--timeout", callback=seconds, metavar="TIME", help="Give up after this long (90s, 5m)."
        ),
        click.option(
            "--recording", metavar="FOLDER", help="Use this recording instead of running a program."
        ),
        click.option("--quiet", "-q", is_flag=True, help="The verdict only."),
        output_options(formats),
        program_arguments,
        click.pass_context,
    )

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.group()
def baseline() -> None:
    """Baselines: a run kept as a small text file for each environment, and CI that compares with it."""


@baseline.command(cls=BaselineVerb)
@running_verb(
    click.option("--contract", default="bitwise", show_default=True, help="How equal later runs must be."),
    RUNS,
)
def record(ctx: click.Context, /, **given: Any) -> None:
    """Run PROGRAM until twins agree, and keep it as the baseline NAME of this environment.

    Exit codes: 0 recorded, 1 the program does not repeat, 2 could not be recorded.
    """
    ctx.exit(_each(given, lambda one: _made(one, reason=None)))


@baseline.command(cls=BaselineVerb)
@running_verb(
    click.option("--reason", required=True, help="Why the change is right; kept in the baseline's history."),
    click.option("--contract", help="Another contract; the baseline's own by default."),
    RUNS,
)
def accept(ctx: click.Context, /, **given: Any) -> None:
    """Run PROGRAM and replace the baseline NAME of this environment, with a reason that is kept."""
    reason = str(given.pop("reason"))
    ctx.exit(_each(given, lambda one: _made(one, reason)))


@baseline.command(cls=BaselineVerb)
@running_verb(
    click.option(
        "--no-rerun", is_flag=True, help="When it fails, do not run again to see whether it repeats."
    ),
    formats=("text", "json", "sarif", "junit", "github"),
)
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
    from twinrun.render.text import printable

    place = _store(store)
    found = listing(place, name)
    if output_format == "json":
        entries = [_listed(each) for each in found]
        document = {"schema": "twinrun/baseline-list/1", "store": place.location, "baselines": entries}
        click.echo(json.dumps(document, indent=1))
    elif not found:
        click.echo(f"no baselines in {place.location}", err=True)
    else:
        for each in found:
            click.echo(printable(_line(each)))
    ctx.exit(2 if any(each.problem for each in found) else 0)


def _each(given: dict[str, Any], one: Callable[[dict[str, Any]], Outcome]) -> int:
    """The baseline that was named, or that of every configured program that has one."""
    from twinrun.cli.programs import all_wanted, configured, worst
    from twinrun.errors import UsageError

    if given["name"] is not None:
        outcome = one(given)
        _write([(given["name"], outcome)], given, several=False)
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
    _write(outcomes, given, several=True)
    return worst([outcome.exit_code for _, outcome in outcomes])


def _made(given: dict[str, Any], reason: str | None) -> Outcome:
    """Record, or accept when there is a reason."""
    from twinrun.baselines import verbs
    from twinrun.baselines.kept_run import from_recording
    from twinrun.baselines.running import observe, observe_twins
    from twinrun.baselines.store import checked_name
    from twinrun.result import CheckResult

    name, store = checked_name(given["name"]), _store(given["store"])
    if reason is not None:
        _take_over(given, verbs.find(store, name))
    contract = given["contract"] or "bitwise"
    if given["recording"]:
        run: KeptRun | CheckResult = from_recording(Path(given["recording"]))
    else:
        running, runs = _running(given, contract), int(given["runs"])
        run = observe_twins(running, runs, _screen(given)) if runs > 1 else observe(running, _screen(given))
    if isinstance(run, CheckResult):
        if run.exit_code == 1:
            click.echo("hint: nothing was recorded; `twinrun check` names the cause", err=True)
        return run
    if reason is None:
        return verbs.record(store, name, contract, run)
    return verbs.accept(store, name, reason, run, given["contract"])


def _checked(given: dict[str, Any]) -> Outcome:
    from twinrun.baselines import verbs
    from twinrun.baselines.kept_run import from_recording
    from twinrun.baselines.running import observe
    from twinrun.baselines.store import checked_name
    from twinrun.result import CheckResult

    name, store = checked_name(given["name"]), _store(given["store"])
    known = verbs.find(store, name)
    _take_over(given, known)
    if given["recording"]:
        return verbs.check(store, name, from_recording(Path(given["recording"])))
    # Any baseline of this name shows whether values are needed; which one applies is known only after the run.
    contracts = [each.contract for each in known if "=" in each.contract and "band" not in each.contract]
    running = _running(given, contracts[0] if contracts else "bitwise")
    run = observe(running, _screen(given))
    if isinstance(run, CheckResult):
        return run

    def again() -> KeptRun | None:
        second = observe(running, _screen(given))
        return None if isinstance(second, CheckResult) else second

    return verbs.check(store, name, run, None if given["no_rerun"] else again)


def _take_over(given: dict[str, Any], known: list[Any]) -> None:
    """What is not given now is as it was when the baseline was recorded: program, steps and pin."""
    if not known:
        return
    latest = max(known, key=lambda each: each.recorded)
    for option in ("steps", "pin"):
        if given[option] is None:
            given[option] = getattr(latest, option)
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
    from twinrun.baselines.running import Running
    from twinrun.comparison.contract import parse_contract

    program = the_program(tuple(given["program"]), given["module"])
    pin = the_pin(given["pin"])
    return Running(program, parse_contract(contract), given["steps"], pin, given["timeout"])


def _store(location: str | None) -> Store:
    from twinrun.baselines.store import open_store
    from twinrun.cli.options import project_table

    configured = project_table().get("baselines")
    return open_store(location or (configured if isinstance(configured, str) else None))


def _screen(given: dict[str, Any]) -> Any:
    from twinrun.cli.progress import screen

    return screen(quiet=bool(given["quiet"]))


def _write(outcomes: list[tuple[str, Outcome]], given: dict[str, Any], *, several: bool) -> None:
    """Text and JSON have what a baseline adds; every other format is a view of the checks inside."""
    from twinrun.baselines.report import json_text, outcome_as_text, several_as_text
    from twinrun.render import write_result, write_results
    from twinrun.result import CheckResult

    form, file, html, quiet = (given[name] for name in ("output_format", "output_file", "html", "quiet"))
    checks = [(name, each if isinstance(each, CheckResult) else each.check) for name, each in outcomes]
    if form not in ("text", "json"):
        write_results(checks, output_format=form, output_file=file, html=html, quiet=quiet)
        return
    if several:
        text = several_as_text(outcomes, form, quiet=quiet)
    elif form == "json":
        text = json_text(outcomes[0][1].as_json())
    else:
        text = outcome_as_text(outcomes[0][1], quiet=quiet, colour=file is None)
    _write_text(text, file)
    if html and not several:
        write_result(checks[0][1], "text", os.devnull, html, quiet=True)


def _write_text(text: str, file: str | None) -> None:
    from twinrun.errors import CannotWrite

    try:
        with click.open_file(file or "-", "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as problem:
        raise CannotWrite(f"cannot write {file}: {problem.strerror}", hint="choose another place") from None


def _listed(each: Listed) -> dict[str, Any]:
    from twinrun.baselines.baseline import finite

    entry: dict[str, Any] = {"name": each.name, "file": each.file, "problem": each.problem}
    if each.baseline is not None:
        entry["key"] = each.baseline.environment.name
        for field in ("contract", "program", "recorded", "last_step", "metrics", "history"):
            entry[field] = finite(getattr(each.baseline, field))
    return entry


def _line(each: Listed) -> str:
    if each.baseline is None:
        return f"{each.name}  DAMAGED  {each.problem}"
    kept = each.baseline
    parts = [each.name, kept.environment.name, kept.contract, f"{kept.last_step} steps", kept.recorded]
    return "  ".join(parts) + (f", accepted {len(kept.history)} times" if kept.history else "")
