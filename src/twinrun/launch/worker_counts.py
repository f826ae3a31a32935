"""What stays the same when the number of workers changes: one run with each number, pinned, compared with the first of
them. Says nothing of whether a run repeats with the same number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from twinrun.counted import counted
from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.launch.cluster_recording import Cluster, Worker, incomplete, read_cluster
from twinrun.launch.kept_quantities import GLOBAL_BATCH, kept_quantities
from twinrun.launch.no_step import no_step
from twinrun.launch.pin_outcome import strictly_missing, without_refused
from twinrun.launch.round import Round
from twinrun.protocol import Pin, PinRequest, relative
from twinrun.protocol.registry import source
from twinrun.result import (
    DIVERGES,
    REPEATS,
    UNDECIDED,
    CheckResult,
    Reason,
    Verdict,
    WorkerCount,
)

CODE = "TW601"
ONCE = "each number of workers ran once: whether a run repeats with the same number, --workers with one number answers"


def compare_worker_counts(check: Round) -> CheckResult:
    """The result of a check whose options have `worker_counts`."""
    runs: list[Cluster] = []
    results: list[CheckResult] = []
    for count in check.options.worker_counts:
        run, result = _run(check, count)
        runs.append(run)
        results.append(result)
        if result.reason is not None:
            break
    known = results[0].replace(
        runs=len(runs),
        recordings=tuple(folder for result in results for folder in result.recordings),
        notes=tuple(dict.fromkeys([ONCE, *(note for result in results for note in result.notes)])),
        output_tail=result.output_tail,
        findings=result.findings,
    )
    if result.reason is not None:
        reason = f"with {counted(count, 'worker')}: {result.reason}"
        return known.replace(verdict=UNDECIDED, reason=reason, reason_kind=result.reason_kind)
    first, *others = runs
    counts = [WorkerCount(len(first.workers), first.last)]
    for run in others:
        kept = kept_quantities(first, run, check.options.contract)
        counts.append(WorkerCount(len(run.workers), run.last, kept))
    verdict, why = _verdict(counts)
    found = (_finding(why.message, first),) if why is not None and verdict == DIVERGES else ()
    return known.replace(
        verdict=verdict,
        findings=(*known.findings, *found),
        reason=None if why is None else why.message,
        reason_kind=None if why is None else why.kind,
        steps_compared=len(set.intersection(*(set(run.steps) for run in runs))),
        worker_counts=tuple(counts),
    )


def _run(check: Round, count: int) -> tuple[Cluster, CheckResult]:
    """The result has a reason where the run says nothing."""
    options = check.options
    if options.pin is None:
        options = replace(options, interventions=(*options.interventions, Pin(PinRequest())))
    options = replace(options, workers=count, runs=1)
    check.screen.say(f"a run with {counted(count, 'worker')}")
    one = Round(options, check.folder, check.screen, check.store)
    one.names = [f"workers-{count}"]
    result = one.alone(0, keep_child_values=True)
    if (again := without_refused(options, result.findings)) is not None:
        options = replace(options, interventions=again[0])
        one = Round(options, check.folder, check.screen, check.store)
        one.names = [f"workers-{count}-again"]
        result = one.alone(0, keep_child_values=True)
        result = result.replace(notes=(*again[1], *result.notes))
    if result.reason_kind != "no-step":
        return Cluster([]), result
    twin = one.recording(one.names[0])
    cluster = read_cluster(twin)
    why = _says_nothing(one, twin, cluster.workers)
    message, kind = (None, None) if why is None else (why.message, why.kind)
    return cluster, result.replace(reason=message, reason_kind=kind)


def _says_nothing(one: Round, twin: Path, workers: Sequence[Worker]) -> Reason | None:
    """Why a run that ended well cannot be compared."""
    facts = [worker.facts for worker in workers]
    unrepeatable = next((each.unrepeatable for each in facts if each.unrepeatable), None)
    if unrepeatable is not None:
        return Reason("not-comparable", unrepeatable)
    if (reason := incomplete(twin)) is not None:
        return reason
    if len(workers) < one.options.workers or not all(worker.steps for worker in workers):
        return no_step(facts)
    missing = strictly_missing(one.options.pin, facts[0])
    return None if missing is None else Reason("pin-missing", missing)


def _finding(message: str, cluster: Cluster) -> Finding:
    """At the line that makes the strategy, as far as one does. One run of each number is no proof."""
    events = [event for worker in cluster.workers for event in worker.facts.events]
    made = next((event for event in events if CODE in source(event.source).codes), None)
    file, line = (None, None) if made is None else (relative(made.file), made.line)
    return finding(CODE, message, file=file, line=line, evidence=[ONCE])


def _verdict(counts: Sequence[WorkerCount]) -> tuple[Verdict, Reason | None]:
    first, *others = counts
    judged = [(each, kept) for each in others for kept in each.quantities if kept.judged]
    for each, kept in judged:
        if kept.outcome in ("different", "changed"):
            where = f" from step {kept.step} on" if kept.step is not None else ""
            which = f" ({kept.tensor or kept.note})" if kept.tensor or kept.note else ""
            message = f"with {each} the {kept.name} are not as with {first}{where}{which}"
            return DIVERGES, Reason("worker-count", message)
    for each, kept in judged:
        if kept.outcome == "unknown" and kept.name != GLOBAL_BATCH:  # the weights show what was trained on
            message = f"with {each} the {kept.name} could not be compared: {kept.note}"
            return UNDECIDED, Reason("unmeasured", message)
    return REPEATS, None
