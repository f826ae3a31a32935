"""`twinrun baseline`: record, check, accept and list the baselines of programs, each under its environment's
key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twinrun.cli.options import RunningVerb, output_options, program_arguments, seconds, the_pin, the_program

if TYPE_CHECKING:
    from twinrun.baselines.observed import Observed
    from twinrun.baselines.program import Running
    from twinrun.baselines.result import BaselineResult
    from twinrun.baselines.store import Store
    from twinrun.baselines.verbs import Listed
    from twinrun.result import CheckResult

# Options that may also stand behind the program, as long as they were not given before it.
LATE = ("--name", "--reason", "--store", "--contract", "--output-format")


class BaselineVerb(RunningVerb):
    """A running verb whose own options may follow the program: `baseline record train.py --name mnist`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        return super().make_context(info_name, with_late_options(args, self._valued()), parent, **extra)

    def _valued(self) -> set[str]:
        """The options of this verb that take a value."""
        options = (param for param in self.params if isinstance(param, click.Option))
        return {name for option in options if not option.is_flag for name in option.opts}


def with_late_options(args: list[str], valued: set[str]) -> list[str]:
    """Moves our options from behind the program to before it. Behind a `--`, and when an option was given
    before
    the program already, everything is the program's own."""
    index = 0
    while index < len(args) and args[index].startswith("-") and args[index] != "--":
        if args[index] == "-m":
            break
        index += 2 if args[index] in valued and args[index] != "--pin" else 1
    before, after = args[:index], args[index:]
    late = {name for name in LATE if name in valued and not any(_is(word, name) for word in before)}
    moved: list[str] = []
    kept: list[str] = []
    place = 0
    while place < len(after):
        word = after[place]
        if word == "--":
            kept += after[place + 1 :] if kept else after[place:]
            break
        name = next((name for name in late if _is(word, name)), None)
        if name is None or not kept:
            kept.append(word)
            place += 1
            continue
        late.discard(name)
        width = 1 if "=" in word else 2
        moved += after[place : place + width]
        place += width
    return [*before, *moved, *kept]


def _is(word: str, option: str) -> bool:
    return word == option or word.startswith(option + "=")


NAME = click.option("--name", required=True, help="The baseline's name, such as mnist.")
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
    ctx.exit(_make(given, reason=None))


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
    ctx.exit(_make(given, reason=str(given.pop("reason"))))


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
    ctx.exit(_check(given))


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


def _make(given: dict[str, Any], reason: str | None) -> int:
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
        return _refused(observed, given)
    if reason is None:
        result = verbs.record(store, name, contract, observed)
    else:
        result = verbs.accept(store, name, reason, observed, given["contract"])
    _write(result, given)
    return 0


def _check(given: dict[str, Any]) -> int:
    from twinrun.baselines import verbs
    from twinrun.baselines.observed import from_recording
    from twinrun.baselines.program import observe
    from twinrun.baselines.store import checked_name
    from twinrun.result import CheckResult

    name, store = checked_name(given["name"]), _store(given["store"])
    known = verbs.find(store, name)
    _take_over(given, known)
    if given["recording"]:
        _write(result := verbs.check(store, name, from_recording(Path(given["recording"]))), given)
        return result.exit_code
    # Any baseline of this name says whether values are needed; which one applies is known only after the run.
    numeric = next(
        (each.contract for each in known if "=" in each.contract and "band" not in each.contract), None
    )
    running = _running(given, numeric or "bitwise")
    observed = observe(running, _screen(given))
    if isinstance(observed, CheckResult):
        return _refused(observed, given)

    def again() -> Observed | None:
        second = observe(running, _screen(given))
        return None if isinstance(second, CheckResult) else second

    result = verbs.check(store, name, observed, None if given["no_rerun"] else again)
    _write(result, given)
    return result.exit_code


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
    from twinrun.compare.contract import parse_contract

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


def _refused(result: CheckResult, given: dict[str, Any]) -> int:
    """The program did not run, or does not repeat: nothing was recorded, nothing could be compared."""
    from twinrun.render import write_result

    write_result(
        result, given["output_format"], given["output_file"], given.get("html"), quiet=given["quiet"]
    )
    if result.exit_code == 1:
        click.echo("hint: nothing was recorded; `twinrun check` names the cause", err=True)
    return result.exit_code


def _write(result: BaselineResult, given: dict[str, Any]) -> None:
    from twinrun.baselines.text import write_baseline_result

    write_baseline_result(
        result, given["output_format"], given["output_file"], given.get("html"), quiet=given["quiet"]
    )


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
