"""One check from beginning to end: a round of twins, and second looks where that one leaves doubt."""

from __future__ import annotations

import time
from dataclasses import dataclass

from twinrun.launch.folders import new_folder
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.round import Round
from twinrun.launch.second_looks import one_after_the_other, stress_run
from twinrun.protocol.evidence import Trace
from twinrun.protocol.facts import Facts
from twinrun.protocol.intervention import Pin, without
from twinrun.result import CheckResult
from twinrun.twin.refusal import without_refused


@dataclass(frozen=True)
class Observed:
    """The result of a check, and what its twins knew: the material of a diagnosis."""

    result: CheckResult
    facts: tuple[Facts, ...] = ()
    traces: tuple[Trace, ...] = ()


def run_check(options: CheckOptions, screen: Screen | None = None) -> CheckResult:
    return observe_check(options, screen).result


def observe_check(options: CheckOptions, screen: Screen | None = None) -> Observed:
    options.program.must_exist()
    folder = new_folder("check", options.folder)
    started = time.monotonic()
    screen = screen or Screen()
    try:
        last, result = _rounds(Round(options, folder, screen))
    finally:
        screen.close()
    timing = {"seconds": round(time.monotonic() - started, 3), **result.timing}
    return Observed(result.replace(timing=timing), tuple(last.facts), tuple(last.traces))


def _rounds(last: Round) -> tuple[Round, CheckResult]:
    result = last.run()
    pin = last.options.pin
    if pin is not None and (again := without_refused(pin, result.findings)) is not None:
        notes = tuple(f"went on without op determinism: {finding.message}" for finding in result.findings)
        interventions = (*without(Pin, last.options.interventions), Pin(again))
        last = last.again("again", interventions=interventions)
        result = last.run()
        result = result.replace(notes=(*notes, *result.notes))
    for second_look in (one_after_the_other, stress_run):
        last, result = second_look(last, result)
    return last, result
