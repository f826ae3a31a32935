"""`twinrun cost`: what determinism costs a program, for each control and for all of them together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from twinrun.cli.options import TEXT_OR_JSON, RunningVerb, program_arguments, shared, the_program
from twinrun.settings import pin_request

if TYPE_CHECKING:
    from twinrun.launch.cost import CostReport


@click.command(cls=RunningVerb)
@shared(
    "controls",
    "rounds",
    "steps",
    "pin",
    "timeout",
    "no_progress",
    "quiet",
    steps={"default": 60, "least": 8, "help": "Steps of each run, at least 8."},
    pin={"help": "The pin to measure, such as --pin=threads=1."},
    timeout={"help": "Give up on a run after this long (90s, 5m)."},
    quiet={"help": "Do not show progress."},
)
@TEXT_OR_JSON
@program_arguments
def cost(*, program: tuple[str, ...], module: str | None, **given: Any) -> None:
    """Measure what each control costs PROGRAM, and all of them together.

    Every pinned run is compared with the plain runs before and after it; the first quarter of the steps of
    each is left out as warm-up. The whole takes as long as rounds x (2 x (controls + 1) + 1) runs of that
    many steps."""
    from twinrun.launch.cost import CostOptions, measure
    from twinrun.protocol.pin import PinRequest
    from twinrun.protocol.registry import parse_pin
    from twinrun.render import show
    from twinrun.terminal import say

    options = CostOptions(
        the_program(program, module),
        pin_request(given["pin"]) or PinRequest(),
        parse_pin(f"only={given['controls'].replace(',', '+')}").only if given["controls"] else None,
        given["steps"],
        given["rounds"],
        given["timeout"],
    )
    options.program.must_exist()
    report = measure(options, lambda text: None if given["quiet"] or given["no_progress"] else say(text))
    show(given["output_format"], report.as_json(), as_text(report), given["output_file"])


def as_text(report: CostReport) -> Iterator[str]:
    yield f"{report.program}: {_time(report.plain_seconds)} a step, plain"
    yield (
        f"  median of {report.steps} steps in each of {report.rounds} rounds, after {report.warm_up} "
        f"of warm-up; plain runs in a row differ by up to {report.noise:.1%}"
    )
    yield ""
    yield f"  {'control':<22} {'a step':>10} {'cost':>8} {'spread':>9}"
    for cost in report.costs:
        mark = "" if report.measurable(cost) else "  not measurable"
        spread = f"± {cost.spread:.1%}" if report.rounds > 1 else ""
        step = _time(report.plain_seconds * (1 + cost.share))
        yield f"  {cost.name:<22} {step:>10} {cost.share:>+8.1%} {spread:>9}{mark}"
    for name, why in report.failed:
        yield f"  {name:<22} {why}"
    yield ""
    for cost in report.costs:
        if report.measurable(cost) or cost.name == "together":
            yield report.sentence(cost)
    free = [cost.name for cost in report.costs if not report.measurable(cost) and cost.name != "together"]
    if free:
        yield f"no measurable cost here: {', '.join(free)}"
    if report.unused:
        yield f"not used by this program, and not measured: {', '.join(report.unused)}"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"
