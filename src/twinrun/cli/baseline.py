"""`twinrun baseline`: record, check, accept and list the baselines of programs, each under its environment's
key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twinrun.cli import options
from twinrun.cli.options import TEXT_OR_JSON, BaselineVerb, Decorator, shared
from twinrun.counted import counted
from twinrun.errors import UsageError
from twinrun.trackers import TITLES

if TYPE_CHECKING:
    from twinrun.baselines.baseline import Baseline
    from twinrun.baselines.kept_run import KeptRun
    from twinrun.baselines.store import Store
    from twinrun.baselines.verbs import Listed
    from twinrun.result import CheckResult

_RUNS = {"least": 1, "help": "Runs that must agree."}


def running_verb(
    *own: str, formats: tuple[str, ...] = ("text", "json"), **changes: Mapping[str, Any]
) -> Decorator:
    """The options of a verb that runs a program, with its own ones among them."""
    return options.all_of(
        shared(
            "name",
            "store",
            *own,
            "steps",
            "pin",
            "timeout",
            "recording",
            "show_arguments",
            "no_progress",
            "quiet",
            "verbose",
            **changes,
        ),
        options.output_options(formats),
        options.program_arguments,
        click.pass_context,
    )


@click.group(cls=options.Verbs)
def baseline() -> None:
    """Keep a run as a small text file for each environment, and compare later runs with it in CI."""


@baseline.command(cls=BaselineVerb)
@running_verb(
    "contract", "from_spread", "runs", runs=_RUNS, contract={"help": "How equal later runs must be."}
)
def record(ctx: click.Context, /, **given: Any) -> None:
    """Run PROGRAM until twins agree, and keep it as the baseline NAME of this environment.

    Exit codes: 0 recorded, 1 the program does not repeat, 2 could not be recorded.
    """
    ctx.exit(_each(given, _recorded))


@baseline.command(cls=BaselineVerb)
@running_verb(
    "reason",
    "contract",
    "runs",
    runs=_RUNS,
    contract={"default": None, "help": "Another contract.  [default: the baseline's own]"},
)
def accept(ctx: click.Context, /, **given: Any) -> None:
    """Run PROGRAM, replace the baseline NAME of this environment, and keep the reason."""
    ctx.exit(_each(given, _recorded))


@baseline.command(cls=BaselineVerb)
@running_verb("no_rerun", *TITLES, formats=("text", "html", "json", "sarif", "junit", "github"))
def check(ctx: click.Context, /, **given: Any) -> None:
    """Run PROGRAM once and compare it with the baseline NAME of this environment.

    Exit codes: 0 within the contract, 1 left it, 2 could not be judged (no baseline for this environment).
    """
    ctx.exit(_each(given, _checked))


@baseline.command(name="list")
@click.argument("name", required=False)
@shared("store")
@TEXT_OR_JSON
@click.pass_context
def list_(
    ctx: click.Context, name: str | None, store: str | None, output_format: str, output_file: str | None
) -> None:
    """List all baselines, or those of NAME. Exit code 2 if one of them is damaged."""
    from twinrun.baselines.verbs import listing
    from twinrun.render import show
    from twinrun.terminal import say

    place = _store(store)
    found = listing(place, name)
    entries = [_listed(each) for each in found]
    document = {"schema": "twinrun/baseline-list/1", "store": place.location, "baselines": entries}
    show(output_format, document, map(_line, found), output_file)
    if not found and output_format == "text":
        say(f"no baselines in {place.location}")
    ctx.exit(2 if any(each.problem for each in found) else 0)


def _each(given: dict[str, Any], one: Callable[[dict[str, Any], Store], CheckResult]) -> int:
    """The baseline that was named, or that of every configured program that has one."""
    from twinrun.cli.programs import all_wanted, configured, for_each, worst
    from twinrun.publish.send import asked_for, send
    from twinrun.render import write_results
    from twinrun.render.several import BASELINES, as_document, one_program_only

    trackers = asked_for(given) if "mlflow" in given else {}
    store = _store(given["store"])
    if given["name"] is not None:
        results = [("", one(given, store))]
    else:
        named = [each for each in configured() if each.baseline is not None]
        if not all_wanted(given) or not named:
            raise UsageError(
                "which baseline?",
                hint="give --name, or `baseline = true` in [tool.twinrun.programs.NAME] of pyproject.toml",
            )
        one_program_only(html=given["html"] or given["output_format"] == "html")
        results = for_each(named, lambda each: one({**each.given(given), "name": each.baseline}, store))
    shown = {name: given[name] for name in ("output_format", "output_file", "html", "quiet", "verbose")}
    write_results(results, **shown, together=BASELINES)
    send(as_document(results, BASELINES), trackers)
    return worst([result.exit_code for _, result in results])


def _recorded(given: dict[str, Any], store: Store) -> CheckResult:
    """Record, or accept where there is a reason."""
    from twinrun.baselines import verbs
    from twinrun.result import CheckResult
    from twinrun.terminal import say

    name, reason = given["name"], given.get("reason")
    if given.get("from_spread"):
        given |= _from_spread(given)
    if reason is not None:
        given |= _as_recorded(given, verbs.find(store, name))
    contract = given["contract"] or "bitwise"
    run = _observer(given, contract, given["runs"])()
    if isinstance(run, CheckResult):
        if run.exit_code == 1:
            say("hint: nothing was recorded; `twinrun check` names the cause")
        return run
    if reason is None:
        return verbs.record(store, name, contract, run)
    return verbs.accept(store, name, reason, run, given["contract"])


def _checked(given: dict[str, Any], store: Store) -> CheckResult:
    from twinrun.baselines import verbs
    from twinrun.result import CheckResult

    known = verbs.find(store, given["name"])
    given |= _as_recorded(given, known)
    # Any baseline of this name shows whether values are needed; which one applies is known only after the run.
    contracts = [each.contract for each in known if "=" in each.contract and "band" not in each.contract]
    observe = _observer(given, contracts[0] if contracts else "bitwise")
    run = observe()
    if isinstance(run, CheckResult):
        return run

    def again() -> KeptRun | None:
        second = observe()
        return None if isinstance(second, CheckResult) else second

    once = given["no_rerun"] or given["recording"]
    return verbs.check(store, given["name"], run, None if once else again)


def _observer(given: dict[str, Any], contract: str, runs: int = 1) -> Callable[[], KeptRun | CheckResult]:
    """Reads the recording that was given, or runs the program."""
    from twinrun.baselines.kept_run import from_recording
    from twinrun.baselines.running import observe
    from twinrun.baselines.store import checked_name
    from twinrun.cli.progress import screen
    from twinrun.recording.manifest import recording_in
    from twinrun.settings import check_options

    checked_name(given["name"])
    if given["recording"]:
        return lambda: from_recording(recording_in(Path(given["recording"])))
    how = {name: given[name] for name in ("steps", "pin", "timeout", "show_arguments")}
    program = options.the_program(given["program"], given["module"])
    asked = replace(check_options(program, contract=contract, **how), runs=runs)
    return lambda: observe(asked, screen(quiet=given["quiet"] or given["no_progress"]))


def _as_recorded(given: dict[str, Any], known: list[Baseline]) -> dict[str, Any]:
    """What is not given now is as it was when the baseline was recorded: program, steps and pin."""
    if not known:
        return {}
    latest = max(known, key=lambda each: each.recorded)
    taken: dict[str, Any] = {name: getattr(latest, name) for name in ("steps", "pin") if given[name] is None}
    if not given["program"] and given["module"] is None and not given["recording"]:
        taken |= _as_given(latest.program, latest.arguments, "the baseline")
    return taken


def _as_given(program: str, arguments: tuple[str, ...], what: str) -> dict[str, Any]:
    """The program that made something, as it would be given."""
    from twinrun.masking import MASK

    if any(MASK in word for word in arguments):
        raise UsageError(
            f"{what} does not know all its arguments: some may be secret, and were not kept",
            hint="name the program with its arguments, or record it with --show-arguments",
        )
    if program.startswith("-m "):
        return {"module": program[3:], "program": arguments}
    return {"program": (program, *arguments)}


def _from_spread(given: dict[str, Any]) -> dict[str, Any]:
    """The bands of a saved spread as the contract, and its most typical run as the one to record."""
    from twinrun.cli.spread import saved
    from twinrun.spread.measure import typical_run

    report = saved(given["from_spread"])
    if given["contract"] != "bitwise" or given["recording"]:
        raise UsageError(
            "--from-spread brings its own contract and run", hint="leave out --contract and --recording"
        )
    if report.contract is None:
        raise UsageError(
            f"{given['from_spread']} recommends no band: nothing moved, or there are too few runs",
            hint="record it without --from-spread: bit for bit",
        )
    pin, arguments = typical_run(report)
    taken: dict[str, Any] = {"contract": report.contract}
    if given["pin"] is None:
        taken["pin"] = str(pin)
    if given["steps"] is None:
        taken["steps"] = report.steps
    if not given["program"] and given["module"] is None:
        return taken | _as_given(report.program, arguments, "the spread")
    program = str(options.the_program(given["program"], given["module"]))
    if program != report.program:
        raise UsageError(
            f"{given['from_spread']} is of {report.program}, not of {program}",
            hint="measure this one: twinrun spread",
        )
    return taken


def _store(location: str | None) -> Store:
    from twinrun.baselines.store import open_store

    configured = options.project_table().get("baselines")
    if configured is not None and not isinstance(configured, str):
        raise UsageError("baselines in [tool.twinrun] of pyproject.toml is not a text")
    return open_store(location or configured)


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
    parts = [each.name, kept.environment.name, kept.contract, counted(kept.last_step, "step"), kept.recorded]
    return "  ".join(parts) + (_accepted(len(kept.history)))


def _accepted(times: int) -> str:
    return f", accepted {counted(times, 'time')}" if times else ""
