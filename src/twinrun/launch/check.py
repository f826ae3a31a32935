"""One check from beginning to end: a round of twins, further rounds where that one leaves doubt, and what came out."""

from __future__ import annotations

import time
from dataclasses import replace

from twinrun.launch.folders import new_folder
from twinrun.launch.options import CheckOptions, Held, Screen
from twinrun.launch.round import Round
from twinrun.launch.second_looks import one_after_the_other, provoked
from twinrun.result import CheckResult
from twinrun.twin.refusal import without_refused


def run_check(
    options: CheckOptions, screen: Screen | None = None, when_held: Held | None = None
) -> CheckResult:
    """`when_held` is called while the twins stand at their first difference, and may ask them for more."""
    options.program.must_exist()
    folder = new_folder("check", options.folder)
    started = time.monotonic()
    screen = screen or Screen()
    try:
        result = _rounds(Round(options, folder, screen, when_held))
    finally:
        screen.close()
    timing = {"seconds": round(time.monotonic() - started, 3), **result.timing}
    return replace(result, timing=timing)


def _rounds(last: Round) -> CheckResult:
    result = last.run()
    pin = last.options.pin
    if pin is not None and (again := without_refused(pin, result.findings)) is not None:
        said = tuple(f"went on without op determinism: {finding.message}" for finding in result.findings)
        last = last.again("again", pin=again)
        result = last.run()
        result = replace(result, notes=(*said, *result.notes))
    for look_again in (one_after_the_other, provoked):
        last, result = look_again(last, result)
    return result
