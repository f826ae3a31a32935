"""Two recordings compared offline. Equal histories have equal chains, so the first differing frame is found by
bisection, and a million steps take no longer than a thousand."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from twinrun.comparison.contract import Contract
from twinrun.comparison.frames import STEP_COUNT, Difference, unlike
from twinrun.comparison.judge import Judge, not_comparable
from twinrun.comparison.timeline import MOST_COLUMNS
from twinrun.environment.verdict import with_environments
from twinrun.errors import BadRecording
from twinrun.launch.children import children_of, unrepeatable
from twinrun.launch.family import Comparison, Family
from twinrun.launch.judged import agree_by_luck, judged
from twinrun.launch.no_step import no_step
from twinrun.launch.options import FOLLOW
from twinrun.launch.recorded_twin import RecordedTwin
from twinrun.launch.replicas import judge_replicas
from twinrun.protocol import Facts
from twinrun.protocol.facts import Replicated
from twinrun.recording.data_order import describe
from twinrun.recording.frame import EVIDENCE, ROLLED_UP, Frame
from twinrun.recording.manifest import FILE, Manifest, read_manifest
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult, Reason, ReasonKind, Verdict

Answer = tuple[Verdict, Reason | None]
Twins = tuple[RecordedTwin, RecordedTwin]


def compare_recordings(
    a: Path, b: Path, contract: Contract, names: tuple[str, str] = ("A", "B")
) -> CheckResult:
    """Compare two recordings, and the processes that each run started."""
    manifests = [read_manifest(each) for each in (a, b)]
    stopped = any(manifest.status in ("stopped", "held") for manifest in manifests)
    family = compare_children(a, b, contract, stopped=stopped, names=names)
    result = family.judge(compare_one(a, b, contract, names, observed=family.observed))
    twins = [
        (folder, _recorded(folder, manifest)) for folder, manifest in zip((a, b), manifests, strict=True)
    ]
    result = judge_replicas(agree_by_luck(result, [facts for _, facts in twins]), twins)
    return with_environments(result, *(manifest.environment for manifest in manifests))


def _recorded(folder: Path, manifest: Manifest) -> Facts:
    """What a recording keeps of what the program knew of its strategy."""
    try:
        replicated = msgspec.convert(manifest.replicated, Replicated | None)
    except msgspec.ValidationError as problem:
        raise BadRecording(f"{folder / FILE} is not the manifest of a recording: {problem}") from None
    return Facts(replicated=replicated, unrepeatable=unrepeatable(manifest.unrepeatable, folder))


def compare_children(
    a: Path, b: Path, contract: Contract, *, stopped: bool, names: tuple[str, str] = ("A", "B")
) -> Family:
    def compare(one: Path, other: Path) -> CheckResult:
        return compare_one(one, other, contract, names)

    return Comparison((children_of(a), children_of(b)), compare, stopped, names).run()


def compare_one(
    a: Path, b: Path, contract: Contract, names: tuple[str, str] = ("A", "B"), *, observed: bool = False
) -> CheckResult:
    """Compare the recordings of one process. `observed`: there is something to compare, if only in others."""
    started = time.monotonic()
    twins = (RecordedTwin(names[0], a), RecordedTwin(names[1], b))
    manifests = (twins[0].manifest, twins[1].manifest)
    judge = Judge(contract, twins, observed=observed)
    lengths = tuple(len(twin.reader) for twin in twins)
    shared = min(lengths)
    start = _first_difference(twins, shared)
    if start:
        if not contract.bands:  # which read every frame
            judge.skip(_some_frames(twins[0], start))
        judge.steps = twins[0].reader.frame(start - 1).step
        first = twins[0].reader.first_observation()
        judge.observed = observed or (first is not None and first < start)
    verdict: Verdict = REPEATS
    reason: Reason | None = None
    if contract.bands:
        verdict, reason = _by_bands(judge, twins, start)
    elif start < shared:
        verdict, reason = _judge_from(judge, twins, start, shared)
    unknown = _unknown(judge, manifests, names)
    uneven = judge.first is not None and judge.first.uneven
    if unknown is not None and (verdict == REPEATS or uneven or contract.bands):
        verdict, reason = UNDECIDED, unknown
    elif verdict == REPEATS or uneven:
        verdict, reason = _ends(judge, manifests, lengths, names)
    return judged(manifests[0].program, verdict, reason, judge).replace(
        controls=manifests[0].controls,
        environment=manifests[0].environment,
        timing={"seconds": round(time.monotonic() - started, 3)},
        recordings=(str(a), str(b)),
        notes=(*_environment_notes(manifests), *_data_notes(twins, equal=start == lengths[0] == lengths[1])),
    )


def _first_difference(twins: Twins, shared: int) -> int:
    """The number of the first frame that differs; `shared` when none does."""
    a, b = (twin.reader for twin in twins)
    low, high = 0, shared
    while low < high:
        middle = (low + high) // 2
        if a.chain_at(middle) == b.chain_at(middle):
            low = middle + 1
        else:
            high = middle
    return low


def _some_frames(twin: RecordedTwin, stop: int) -> Iterator[Frame]:
    """A selection of the equal frames: as many as a timeline has columns, and the last."""
    for seq in sorted({*range(0, stop, max(1, stop // MOST_COLUMNS)), stop - 1}):
        yield twin.reader.frame(seq)


def _judge_from(judge: Judge, twins: Twins, start: int, shared: int) -> Answer:
    a, b = twins
    for seq in range(start, shared):
        a.seq = b.seq = seq
        frames = [a.reader.frame(seq), b.reader.frame(seq)]
        if not frames[0].digests or not frames[1].digests:
            for later in range(seq, min(shared, seq + 1 + FOLLOW)):
                both = [twin.reader.frame(later) for twin in twins]
                judge.rolled_up(both, None if unlike(*both) else _differing_phases(twins, later))
            return _rolled_up(judge, twins, frames)
        if judge.look(frames):
            if judge.unmeasured:
                return UNDECIDED, _no_values(judge, judge.unmeasured)
            _follow(judge, twins, seq + 1, shared)
            return DIVERGES, None
    return REPEATS, None


def _follow(judge: Judge, twins: Twins, start: int, stop: int) -> None:
    a, b = twins
    for seq in range(start, stop):
        a.seq = b.seq = seq
        frames = [a.reader.frame(seq), b.reader.frame(seq)]
        if not all(frame.digests for frame in frames) or judge.follow(frames) or judge.followed >= FOLLOW:
            return


def _by_bands(judge: Judge, twins: Twins, start: int) -> Answer:
    """Bands are about metrics, whose values are kept of every frame, rolled up or not."""
    a, b = twins
    for frames in zip(a.follow(), b.follow(), strict=False):
        if a.seq >= start and all(frame.digests for frame in frames):
            judge.look(list(frames))
            continue
        if a.seq == start:
            judge.first_bits = _rolled_up_difference(twins, start, frames[0].step)
        judge.remember(list(frames))
        judge.count(list(frames))
        if a.seq < start:
            judge.skip(frames[:1])
        else:
            judge.rolled_up(list(frames))
    return judge.bands()


def _no_values(judge: Judge, unmeasured: Reason) -> Reason:
    hint = f"record both runs with --keep-values to judge them under {judge.contract}"
    return Reason(unmeasured.kind, f"{unmeasured.message}: {hint}")


def _rolled_up(judge: Judge, twins: Twins, frames: list[Frame]) -> Answer:
    step = frames[0].step
    judge.first = judge.first_bits = _rolled_up_difference(twins, twins[0].seq, step)
    if doubtful := [each for each in unlike(*frames) if each.judged]:
        return UNDECIDED, not_comparable(doubtful[0])
    if judge.contract.bitwise:
        return DIVERGES, None
    kept = "these recordings keep no digests of single tensors: record with --detail"
    return UNDECIDED, Reason("unmeasured", f"beyond step {step} {kept}")


def _rolled_up_difference(twins: Twins, seq: int, step: int) -> Difference:
    """Far into a long run only one digest for each phase is kept: the phase is known, the tensor is not."""
    phases = _differing_phases(twins, seq)
    return Difference(step, phases[0] if phases else "weights", ROLLED_UP)


def _differing_phases(twins: Twins, seq: int) -> list[str]:
    a, b = (twin.reader.rollup(seq) for twin in twins)
    return [phase for phase in a if a[phase] != b.get(phase) and phase not in EVIDENCE]


def _unknown(judge: Judge, manifests: tuple[Manifest, Manifest], names: tuple[str, str]) -> Reason | None:
    """Why no difference says nothing about the whole runs."""
    if not judge.observed:
        return no_step()
    for name, manifest in zip(names, manifests, strict=True):
        if manifest.missing_end is not None:
            kind: ReasonKind = "crashed" if manifest.failed else "interrupted"
            return Reason(kind, f"recording {name} {manifest.missing_end}: {_known(judge)}")
    return None


def _known(judge: Judge) -> str:
    equal = "equal" if judge.first_bits is None else f"within {judge.contract}"
    return f"{equal} up to step {judge.steps}, nothing is known beyond"


def _ends(
    judge: Judge, manifests: tuple[Manifest, Manifest], lengths: tuple[int, ...], names: tuple[str, str]
) -> Answer:
    uneven = judge.first is not None and judge.first.uneven
    if not uneven and lengths[0] == lengths[1]:
        return REPEATS, None
    if any(manifest.status == "stopped" for manifest in manifests):
        return UNDECIDED, Reason("interrupted", f"one recording was stopped: {_known(judge)}")
    if judge.first is None:
        longer = names[0 if lengths[0] > lengths[1] else 1]
        judge.first = Difference(judge.steps + 1, "weights", STEP_COUNT, only_in=longer)
    longer = str(judge.first.only_in)
    shorter = names[1 if longer == names[0] else 0]
    return DIVERGES, Reason("uneven", f"{shorter} ended after step {judge.steps}, {longer} went on")


def _environment_notes(manifests: tuple[Manifest, Manifest]) -> tuple[str, ...]:
    keys = [manifest.environment.get("name") for manifest in manifests]
    if all(keys) and keys[0] != keys[1]:
        return (f"recorded in different environments: {keys[0]} and {keys[1]}",)
    return ()


def _data_notes(twins: Twins, *, equal: bool) -> tuple[str, ...]:
    sentence = describe(twins[0].reader, twins[1].reader, equal=equal)
    return () if sentence is None else (sentence,)
