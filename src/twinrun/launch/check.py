"""One check from beginning to end: a round of twins, and second looks where that one leaves doubt."""

from __future__ import annotations

import contextlib
import json
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from twinrun.interrupt import Interrupted
from twinrun.launch.another_day import carried_over, look_again
from twinrun.launch.delivered import DeliveryJudge
from twinrun.launch.folders import Place, must_be_free, recordings
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.pin_outcome import without_refused
from twinrun.launch.round import Round
from twinrun.launch.second_looks import one_after_the_other, without_overlay
from twinrun.launch.shares import judge_shares
from twinrun.launch.view_store import ViewStore
from twinrun.launch.worker_counts import compare_worker_counts
from twinrun.protocol import Evidence, Facts, Trace
from twinrun.protocol.evidence import Code, side_by_side
from twinrun.quote import quoted
from twinrun.result import CheckResult

RESULT = "result.json"  # in the folder of the check


@dataclass(frozen=True)
class Observed:
    """The result of a check, and what its twins knew: the material of a diagnosis."""

    result: CheckResult
    folder: Path
    facts: tuple[Facts, ...] = ()
    traces: tuple[Trace, ...] = ()
    compared: tuple[str, ...] = ()

    def noted(self, *notes: str) -> Observed:
        """The same with more notes."""
        return replace(self, result=self.result.replace(notes=(*self.result.notes, *notes)))

    def evidence(self, code: Code) -> Evidence | None:
        """None when the result does not say where the twins part."""
        first = self.result.first_difference
        if first is None:
            return None
        logs = [facts.events for facts in self.facts if facts.events]
        pairs = side_by_side(logs[0], logs[-1]) if len(logs) > 1 else ()
        streams = tuple(row.stream for row in self.result.streams)
        traces = (self.traces[0], self.traces[-1]) if len(self.traces) > 1 else None
        audits = (facts.datasets for facts in self.facts if facts.datasets is not None)
        datasets = dict.fromkeys(finding for audit in audits for finding in audit.findings)
        drift = self.result.reason_kind == "replica-drift"
        devices = tuple(each.device for each in self.result.devices)
        return Evidence(
            first, pairs, streams, traces, code, tuple(datasets), self.compared, drift, devices, self.result.contract,
            self.result.also_differing,
        )  # fmt: skip


def run_check(options: CheckOptions, screen: Screen | None = None) -> CheckResult:
    screen = screen or Screen()
    try:
        with check_folder(options) as place:
            return observe_check(options, place, screen).result
    finally:
        screen.close()


def check_folder(options: CheckOptions) -> AbstractContextManager[Place]:
    """Where the recordings of a check go. Nothing is made, or removed to make room, for what cannot begin."""
    options.program.must_exist()
    if options.keep_files:
        must_be_free(Path(options.keep_files).absolute(), "--keep-files")
    return recordings("check", options.folder, keep=options.keep, secrets=options.program.secrets)


def observe_check(options: CheckOptions, place: Place, screen: Screen) -> Observed:
    """The screen is left open: a diagnosis goes on with it."""
    folder = place.folder
    keep = Path(options.keep_files).absolute() if options.keep_files and not options.experiment else None
    shown = partial(options.program.shown, patched=options.patched)
    with ViewStore(folder) as store:
        first = Round(options, folder, screen, store)
        try:
            last, observed = _observe(first)
        except KeyboardInterrupt as stop:
            why = Interrupted.of(stop)
            raise why.leaving(("", save(shown(first.interrupted(why)), folder))) from None
        observed = observed.noted(*place.notes)
        observed = observed if keep is None else _kept(last, observed, keep)
    result = observed.result.replace(findings=quoted(observed.result.findings, options.patched))
    return replace(observed, result=save(shown(result), folder))


def save(result: CheckResult, folder: Path) -> CheckResult:
    """Beside the recordings, for `twinrun report`: as a whole, or, on a full disk, not at all."""
    partial = folder / f".{RESULT}"
    with contextlib.suppress(OSError):
        try:
            partial.write_text(json.dumps(result.as_json(), indent=1, default=str) + "\n", encoding="utf-8")
            partial.replace(folder / RESULT)
        finally:
            partial.unlink(missing_ok=True)
    return result


def _kept(last: Round, observed: Observed, folder: Path) -> Observed:
    """Keep the files of the twins. Where they cannot be written, a note says so and the result stands."""
    try:
        last.views.keep(last.names, folder)
    except OSError as problem:
        note = f"the twins' files could not be kept in {folder}: {problem.strerror}"
    else:
        if last.views.how != "shared":
            return observed
        note = f"nothing was kept in {folder}: the twins wrote to the working folder itself"
    return observed.noted(note)


def _observe(last: Round) -> tuple[Round, Observed]:
    started, options, folder = time.monotonic(), last.options, last.folder
    if options.worker_counts:
        result = compare_worker_counts(last)
        timing = {"seconds": round(time.monotonic() - started, 3)}
        return last, Observed(result.replace(timing=timing), folder)
    result = last.run()
    if (again := without_refused(options, result.findings)) is not None:
        interventions, notes = again
        last = last.again("again", interventions=interventions)
        result = last.run()
        result = result.replace(notes=(*notes, *result.notes))
    for second_look in (without_overlay, one_after_the_other):
        last, result = second_look(last, result)
    # Between devices the question is what a device does, not what another day would.
    if options.contract.output and not options.devices:
        last, result = carried_over(last, result)
    judge = DeliveryJudge(last)
    if not options.contract.output and not options.devices:
        last, result = look_again(last, result, judge if judge.counts(result) else None)
    judge = judge if last is judge.last else DeliveryJudge(last)
    result = judge.judge(judge_shares(last, result))
    timing = {"seconds": round(time.monotonic() - started, 3), **result.timing}
    known = (tuple(last.facts), tuple(last.traces), last.compared)
    return last, Observed(result.replace(timing=timing), folder, *known)
