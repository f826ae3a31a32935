"""Whether the workers of a cluster share the data: every element is read once, by one of them. What the whole is, a cluster
of one worker shows."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.launch.children import children_of, ends_of
from twinrun.launch.round import Round
from twinrun.protocol import Event, Facts, relative
from twinrun.protocol.facts import WorkerEnd
from twinrun.protocol.messages import End
from twinrun.protocol.registry import lost_peer, mismatched, source
from twinrun.result import REPEATS, CheckResult

CODE = "TW602"
_NOT_SEEN = "the batches of a worker were not seen"


@dataclass(frozen=True)
class Coverage:
    """How the workers' elements cover those that one worker alone reads."""

    workers: tuple[int, ...]  # elements of each
    whole: int
    missing: int
    repeated: int
    foreign: int
    again: bool  # a worker alone reads an element more often than is in the data, as with repeat()

    @staticmethod
    def of(workers: Sequence[Counter[int]], whole: Counter[int]) -> Coverage:
        seen: Counter[int] = sum(workers, Counter())
        return Coverage(
            tuple(share.total() for share in workers),
            whole.total(),
            missing=(whole - seen).total(),
            repeated=sum(max(0, seen[one] - whole[one]) for one in whole),
            foreign=sum(count for one, count in seen.items() if one not in whole),
            again=any(share[one] > count for share in workers for one, count in whole.items()),
        )

    @property
    def fault(self) -> str:
        """What is wrong with it, in words. Nothing where the elements are not the same ones, as with data that is drawn
        anew in each run, or with one worker that does not read all of them; nor where a worker goes through its share more
        than once, however well they are shared."""
        if self.foreign or self.again:
            return ""
        parts = [f"{self.repeated} are read more than once"] if self.repeated else []
        parts += [f"{self.missing} are never read"] if self.missing else []
        return f"of {self.whole} elements " + " and ".join(parts) if parts else ""


def judge_shares(last: Round, result: CheckResult) -> CheckResult:
    """The result, with what is wrong with the way in which the workers share the data."""
    if last.options.workers < 2 or last.options.experiment:
        return result
    # One after the other, the first twin is known though none came after it.
    if len(last.facts) < (1 if last.options.sequential else len(last.names)):
        return result
    twin = last.recording(last.names[0])
    for name, facts in zip(last.names, last.facts, strict=False):
        if (uneven := _uneven(last.recording(name), facts)) is not None:
            return result.replace(findings=(*result.findings, uneven))
    if result.verdict != REPEATS or last.options.steps:  # not of all that they read
        return result
    found = _not_covered(last, twin)
    if isinstance(found, str):
        note = f"whether the workers read every element of the data once was not judged: {found}"
        return result.replace(notes=(*result.notes, note))
    return result if found is None else result.replace(findings=(*result.findings, found))


def _not_covered(last: Round, twin: Path) -> Finding | str | None:
    """What is wrong, or why that is not known."""
    workers = _shares(twin)
    if isinstance(workers, str):
        return workers
    if len(workers) < last.options.workers:
        return _NOT_SEEN
    last.screen.say("another round: one worker, which reads all the data")
    alone = last.again(
        "one-worker", workers=1, runs=1, experiment=True, sequential=False, timeout=last.patience
    )
    result = alone.run()
    if result.reason_kind not in (None, "no-step"):  # one worker is no step of its own
        return f"with one worker, {_why(result, alone.facts)}"
    whole = _shares(alone.recording(alone.names[0]))
    if isinstance(whole, str) or not whole:
        return f"with one worker, {whole or _NOT_SEEN}"
    coverage = Coverage.of(workers, whole[0])
    if coverage.foreign:
        return "one worker alone reads other elements"
    if coverage.again:
        return "a worker reads elements again within a pass"
    if not coverage.fault:
        return None
    sizes = ", ".join(map(str, coverage.workers))
    how = f"one worker alone reads {coverage.whole} elements (--workers 1), these read {sizes}"
    return _finding(
        last.facts[0], f"{len(workers)} workers do not share the data: {coverage.fault}", how, confirmed=True
    )


def _why(result: CheckResult, twins: Sequence[Facts]) -> str:
    """Why one worker did not come to its end, with the exception, if there was one."""
    failure = next((facts.failure for facts in twins if facts.failure is not None), None)
    if failure is None:
        return str(result.reason)
    text = next(iter(failure.text.splitlines()), "")
    return f"{result.reason}: {failure.kinds[0]}" + (f": {text}" if text else "")


def _uneven(twin: Path, facts: Facts) -> Finding | None:
    """A worker that comes to its end before others that train with it. Those wait for it, and fail or are ended: where all
    came to their end, one took more steps than another because it also trained something of its own."""
    found = ends_of(twin)
    ends = {about.worker: end for about, _, end in found if end is not None and about.worker is not None}
    early = [
        number for number, end in ends.items() if end.status == "ended" and _trains_with_others(end.facts)
    ]
    failed = facts.worker_end
    if failed is None or failed.failed:
        return None
    end = ends.get(failed.number)
    failure = end.facts.failure if end is not None else None
    if failure is not None and mismatched(failure):
        message = (
            f"worker {failed.number} was at another operation than the others: their shares may be uneven"
        )
        how = "one that has read its share sums up its metrics, while others still train"
        return _finding(facts, message, how, confirmed=False)
    if not early:
        return None
    waited = _waited(failed, end)
    if not waited and end is not None:  # it failed by itself
        return None
    steps = {
        child.about.worker: child.content.steps
        for child in children_of(twin)
        if child.about.worker is not None and child.content is not None
    }
    taken = "steps of each worker: " + ", ".join(map(str, steps.values()))
    short = [number for number in early if steps.get(number, 0) < max(steps.values(), default=0)]
    if short:
        most = max(steps, key=lambda number: steps[number])
        counts = f"worker {short[0]} takes {steps[short[0]]} steps, worker {most} {steps[most]}"
        return _finding(facts, f"the workers' shares are uneven: {counts}", taken, confirmed=waited)
    if not waited:
        return None
    message = (
        f"worker {early[0]} ended, and worker {failed.number} had more to train: their shares may be uneven"
    )
    return _finding(facts, message, taken, confirmed=False)


def _waited(failed: WorkerEnd, end: End | None) -> bool:
    """Whether a worker failed for want of another."""
    if failed.code is None:
        return True
    failure = end.facts.failure if end is not None else None
    return failure is not None and lost_peer(failure)


def _trains_with_others(facts: Facts) -> bool:
    return facts.replicated is not None and bool(facts.replicated.cluster)


def _shares(twin: Path) -> list[Counter[int]] | str:
    """The elements of each worker's first pass over the data, or why those of one are not known."""
    ends = (end for about, _, end in ends_of(twin) if about.worker is not None and end is not None)
    shares = [end.facts.share for end in ends if end.facts.share is not None]
    unknown = next((share.unknown for share in shares if share.unknown), None)
    if unknown is not None:
        return unknown
    return [Counter(struct.unpack(f"<{len(each.elements) // 8}Q", each.elements)) for each in shares]


def _finding(facts: Facts, message: str, how: str, *, confirmed: bool) -> Finding:
    """The line that shares the data, if there is one: first of all one that does nothing else. Where several do, all are shown:
    data that is shared twice is most often the fault."""
    lines = sorted(
        _sharing(facts.events), key=lambda event: (source(event.source).codes.index(CODE), event.order)
    )
    how_shared = "shared by" if len(lines) > 1 else "note:"
    notes = [f"{how_shared} {event.call} at {event.place}" for event in lines]
    place = lines[0] if lines else None
    return finding(
        CODE, message, file=relative(place.file) if place else None, line=place.line if place else None,
        confirmed=confirmed, evidence=[*notes, f"confirmed by: {how}" if confirmed else how],
    )  # fmt: skip


def _sharing(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if CODE in source(event.source).codes]
