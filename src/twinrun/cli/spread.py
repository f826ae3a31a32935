"""`twinrun spread`: how far a program's results spread over seeds, and whether two variants differ beyond that."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twinrun.cli.options import SpreadVerb, output_options, program_arguments, shared, the_program
from twinrun.errors import UsageError
from twinrun.settings import pin_request

if TYPE_CHECKING:
    from twinrun.launch.program import Program
    from twinrun.spread.comparing import ComparisonReport
    from twinrun.spread.report import SpreadReport

_TWO = "give two saved spreads, or two programs: twinrun spread --compare 'train.py --lr 0.1' 'train.py --lr 0.2'"


@click.command(cls=SpreadVerb)
@shared(
    "seeds",
    "sources",
    "implementation_only",
    "compare",
    "seed_option",
    "one_in",
    "reuse",
    "jobs",
    "steps",
    "pin",
    "timeout",
    "show_arguments",
    "no_progress",
    "quiet",
    steps={"help": "Stop each run after this many steps."},
    pin={"help": "The pin of the first run: --pin=7 starts with seed 7, --pin=device=cpu uses no GPU."},
    timeout={"help": "Give up on a run after this long (90s, 5m)."},
    quiet={"help": "Do not show progress."},
)
@output_options(("text", "html", "json"))
@program_arguments
@click.pass_context
def spread(ctx: click.Context, /, program: tuple[str, ...], module: str | None, **given: Any) -> None:
    """Run PROGRAM pinned to one seed after another, and report how far its results spread.

    For each metric: mean, standard deviation, range, where the mean lies, what moves it most, and a band for a
    contract with the share of honest runs that would leave it. With --compare, whether two variants differ beyond
    the seed. Exit codes: 0 measured, 2 could not be measured, 130 interrupted (what was found by then is reported).
    """
    from twinrun.cli.programs import left_by
    from twinrun.render.spread import write_report

    if given["compare"]:
        names = _two(program, module)
        found, code = left_by(lambda: [("", _compared(names, given))])
    else:
        target = the_program(program, module)
        found, code = left_by(lambda: [("", _measured(target, given))])
    [(_, result)] = found
    write_report(result, **{name: given[name] for name in ("output_format", "output_file", "html")})
    ctx.exit(code)


def _measured(target: Program, given: dict[str, Any], which: str = "") -> SpreadReport:
    from dataclasses import replace

    from twinrun.protocol.pin import PinRequest
    from twinrun.spread.measure import measure
    from twinrun.spread.plan import SpreadOptions, parse_sources
    from twinrun.terminal import say

    sources = parse_sources(given["sources"])
    if given["implementation_only"] and sources:
        raise UsageError(
            "--implementation-only varies no seed, so no sources",
            hint="--sources implementation measures it beside the seed",
        )
    options = SpreadOptions(
        replace(target, show_arguments=given["show_arguments"]),
        sources=sources,
        request=pin_request(given["pin"]) or PinRequest(),
        **{name: given[name] for name in ("seeds", "implementation_only", "seed_option", "one_in", "jobs")},
        **{name: given[name] for name in ("steps", "timeout")},
    )
    earlier = saved(given["reuse"]) if given["reuse"] else None

    def progress(text: str) -> None:
        if not (given["quiet"] or given["no_progress"]):
            say(f"{which}{text}")

    return measure(options, earlier, progress, None if given["compare"] else _keeper(given))


def _keeper(given: dict[str, Any]) -> Callable[[SpreadReport], None] | None:
    """Writes what there is so far: a process that is killed leaves the runs that had ended."""
    from twinrun.render import json_text
    from twinrun.whole_file import is_place, replace_file

    file = Path(given["output_file"] or "")
    if given["output_format"] != "json" or not given["output_file"] or not is_place(file):
        return None

    def keep(report: SpreadReport) -> None:
        with contextlib.suppress(OSError):  # the end reports it
            replace_file(file, json_text(report.as_json(figures=False)).encode())

    return keep


def saved(file: str) -> SpreadReport:
    from twinrun.cli.report import read_document
    from twinrun.spread.report import SpreadReport
    from twinrun.spread.statistics import must_have_scipy

    must_have_scipy()
    return SpreadReport.from_json(read_document(file), where=file)


def _two(program: tuple[str, ...], module: str | None) -> tuple[str, str]:
    if module is not None or len(program) != 2:
        raise UsageError("--compare takes two variants", hint=_TWO)
    return program[0], program[1]


def _compared(names: tuple[str, str], given: dict[str, Any]) -> ComparisonReport:
    from twinrun.interrupt import Interrupted
    from twinrun.render.spread_text import title
    from twinrun.spread.comparing import comparison

    if given["reuse"]:
        raise UsageError("--compare takes saved spreads themselves, not --reuse", hint=_TWO)
    targets = [None if _is_saved(name) else _program(name) for name in names]
    for target in targets:
        if target is not None:
            target.must_exist()  # before the first of them is run for minutes
    a = _variant("A", names[0], targets[0], given)
    stopped = None
    try:
        b = _variant("B", names[1], targets[1], given)
    except Interrupted as stop:
        if not stop.results:
            raise stop.leaving(("", a)) from None
        stopped, b = stop, stop.results[0][1]
    # A program by its masked arguments.
    shown = [
        name if target is None else title(each)
        for name, target, each in zip(names, targets, (a, b), strict=True)
    ]
    found = comparison((shown[0], shown[1]), a, b)
    if stopped is not None:
        raise stopped.leaving(("", found))
    return found


def _variant(letter: str, name: str, target: Program | None, given: dict[str, Any]) -> SpreadReport:
    return saved(name) if target is None else _measured(target, given, f"{letter}: ")


def _is_saved(name: str) -> bool:
    return name.endswith(".json") or (not name.endswith((".py", ".ipynb")) and Path(name).is_file())


def _program(words: str) -> Program:
    try:
        found = shlex.split(words)
    except ValueError as problem:
        raise UsageError(f"{words!r} is no command line: {problem}", hint=_TWO) from None
    if found[:1] == ["-m"] and len(found) > 1:
        return the_program(tuple(found[2:]), found[1])
    return the_program(tuple(found), None)
