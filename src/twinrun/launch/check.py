"""One check from beginning to end: a round of twins, and second looks where that one leaves doubt."""

from __future__ import annotations

import time
from dataclasses import dataclass

from twinrun.launch.delivered import judge_delivered
from twinrun.launch.folders import new_folder
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.pin_outcome import without_refused
from twinrun.launch.round import Round
from twinrun.launch.second_looks import one_after_the_other, stress_run
from twinrun.launch.view_store import ViewStore
from twinrun.protocol import Evidence, Facts, Trace
from twinrun.protocol.evidence import Code, side_by_side
from twinrun.result import CheckResult


@dataclass(frozen=True)
class Observed:
    """The result of a check, and what its twins knew: the material of a diagnosis."""

    result: CheckResult
    facts: tuple[Facts, ...] = ()
    traces: tuple[Trace, ...] = ()

    def evidence(self, code: Code) -> Evidence | None:
        """None when the result does not say where the twins part."""
        first = self.result.first_difference
        if first is None:
            return None
        logs = [facts.events for facts in self.facts if facts.events]
        pairs = side_by_side(logs[0], logs[-1]) if len(logs) > 1 else ()
        streams = tuple(row.stream for row in self.result.streams)
        traces = (self.traces[0], self.traces[-1]) if len(self.traces) > 1 else None
        return Evidence(first, pairs, streams, traces, code)


def run_check(options: CheckOptions, screen: Screen | None = None) -> CheckResult:
    screen = screen or Screen()
    try:
        return observe_check(options, screen).result
    finally:
        screen.close()


def observe_check(options: CheckOptions, screen: Screen) -> Observed:
    """The screen is left open: a diagnosis goes on with it."""
    options.program.must_exist()
    folder = new_folder("check", options.folder)
    with ViewStore(folder) as store:
        return _observe(Round(options, folder, screen, store))


def _observe(last: Round) -> Observed:
    started, options = time.monotonic(), last.options
    result = last.run()
    if (again := without_refused(options, result.findings)) is not None:
        interventions, notes = again
        last = last.again("again", interventions=interventions)
        result = last.run()
        result = result.replace(notes=(*notes, *result.notes))
    for second_look in (one_after_the_other, stress_run):
        last, result = second_look(last, result)
    result = judge_delivered(last, result)
    timing = {"seconds": round(time.monotonic() - started, 3), **result.timing}
    return Observed(result.replace(timing=timing), tuple(last.facts), tuple(last.traces))
