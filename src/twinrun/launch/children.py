"""The processes that a twin started, as they are found in its folder, and what they know."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import xxhash
from msgspec.structs import replace

from twinrun import untrusted
from twinrun.errors import BadRecording
from twinrun.protocol import Event, Facts
from twinrun.protocol import child as files
from twinrun.protocol.child import ChildProcess
from twinrun.protocol.event import WORKER
from twinrun.protocol.facts import Failure, Inputs, WorkerEnd
from twinrun.protocol.messages import End, SoFar, Trouble
from twinrun.protocol.registry import lost_peer, mismatched
from twinrun.recording.folder import open_recording
from twinrun.recording.reader import Reader
from twinrun.recording.store import FILE, FIRST_CHAIN

Found = TypeVar("Found", ChildProcess, End, SoFar, Trouble)
Recording = TypeVar("Recording")  # the folder of one, or what a baseline keeps of it
_PLACE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})*")
_MOST_DRAWS = 64


@dataclass(frozen=True)
class Content:
    """Equal for equal recordings."""

    frames: int = 0
    steps: int = 0
    chain: str = ""
    going_on: tuple[int, str] = (0, "")  # frames and chain without the state at its end


@dataclass(frozen=True)
class Child(Generic[Recording]):
    """`status` is its own word for how it ended; "cut off" where the program, or its end, did that; "lost" where nobody
    knows."""

    about: ChildProcess
    recording: Recording
    status: str
    trouble: Trouble | None = None
    content: Content | None = None  # None: it trained nothing
    member: int | None = None  # its number in a cluster

    @property
    def counts(self) -> bool:
        """Whether it is part of the result: it trained, or may have."""
        return self.content is not None or bool(self.about.unwatched) or self.trouble is not None

    @property
    def cut_off(self) -> bool:
        return self.status == "cut off"

    @property
    def whole(self) -> bool:
        """It came to its end, or to the step asked for."""
        return self.status in ("ended", "stopped")


def children_of(twin: Path) -> list[Child[Path]]:
    """The children that are part of the result, in the order in which they were started."""
    signalled: set[str] = set()
    with contextlib.suppress(OSError, ValueError):
        listed = untrusted.read_bytes(twin / files.FOLDER / files.SIGNALLED)
        signalled = set(listed.decode("utf-8", "replace").split())
    found = []
    for about, folder in _started(twin):
        end = _read(folder / files.END, End)
        lost = "cut off" if str(about.pid) in signalled else "lost"
        trouble = _read(folder / files.TROUBLE, Trouble)
        status, content = end.status if end else lost, _content(folder, end)
        together = _known(folder, end).replicated
        found.append(Child(about, folder, status, trouble, content, together.number if together else None))
    return [child for child in found if child.counts]


def numbers_of_children(twin: Path) -> list[int]:
    """The process numbers of the children."""
    return [about.pid for about, _ in _started(twin)]


def note_survivors(twin: Path) -> None:
    """The program has ended: what it leaves running is cut off with it. To be called before that is done."""
    living = [about.pid for about, _ in _started(twin) if _alive(about.pid)]
    if living:
        with contextlib.suppress(OSError), (twin / files.FOLDER / files.SIGNALLED).open("a") as file:
            file.writelines(f"{pid}\n" for pid in living)


def _started(twin: Path) -> list[tuple[ChildProcess, Path]]:
    found = []
    for file in (twin / files.FOLDER).glob(f"*/{files.FILE}"):
        about = _read(file, ChildProcess)
        if about is not None and _PLACE.fullmatch(about.identity):
            found.append((about, file.parent))
        elif file.with_name(FILE).exists():  # or else it was just being started
            raise BadRecording(f"{file} is damaged", hint="record the run again")
    return sorted(found, key=lambda each: ([int(part) for part in each[0].identity.split(".")], each[1].name))


def _content(folder: Path, end: End | None) -> Content | None:
    if not (folder / FILE).exists():
        return None
    try:
        _, reader = open_recording(folder)
    except BadRecording:
        if end is not None:
            raise
        return Content()  # killed before it had written anything
    with contextlib.closing(reader):
        if end is not None and reader.first_observation() is None:
            return None
        frames = len(reader)
        last = frames - 1 if frames and reader.frame(frames - 1).is_end else frames
        return Content(frames, reader.last_step(), _chain(reader, frames), (last, _chain(reader, last)))


def _chain(reader: Reader, frames: int) -> str:
    return (reader.chain_at(frames - 1) if frames else FIRST_CHAIN).hex()


def _read(file: Path, kind: type[Found]) -> Found | None:
    with contextlib.suppress(OSError, ValueError):
        return untrusted.read_as(file, kind)
    return None


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"


def ends_of(twin: Path) -> list[tuple[ChildProcess, Path, End | None]]:
    """Every process that a twin started, and its last message, where it left one."""
    return [(about, folder, _read(folder / files.END, End)) for about, folder in _started(twin)]


def known_of(twin: Path) -> list[tuple[ChildProcess, Path, SoFar]]:
    """What every process that a twin started knew of its strategy, also where it was ended from outside."""
    return [(about, folder, _known(folder, end)) for about, folder, end in ends_of(twin)]


def _known(folder: Path, end: End | None) -> SoFar:
    if end is not None:
        return SoFar(end.facts.replicated, end.facts.unrepeatable)
    return _read(folder / files.SO_FAR, SoFar) or SoFar()


def unrepeatable(own: str | None, twin: Path) -> str | None:
    """Why no run repeats another: by what a process says itself, or else by those that it started."""
    return own or next((known.unrepeatable for _, _, known in known_of(twin) if known.unrepeatable), None)


def with_children(facts: Facts, twin: Path) -> Facts:
    """The facts of a twin, with what its children used and read. A cluster is known by its workers."""
    ends = ends_of(twin)
    ended = [end.facts for _, _, end in ends if end is not None]
    facts = replace(facts, unrepeatable=unrepeatable(facts.unrepeatable, twin))
    used = [(about, _events(folder, end)) for about, folder, end in ends]
    if not ended and not any(events for _, events in used):
        return facts
    workers = {about.worker: end for about, _, end in ends if end is not None and about.worker is not None}
    if workers:
        first = next(iter(workers.values()))
        facts = replace(
            first.facts, process=facts.process, parent=facts.parent, worker_end=facts.worker_end,
            notes=facts.notes, events=[], failure=_failure(workers, facts.worker_end), unrepeatable=facts.unrepeatable,
        )  # fmt: skip
    everyone = [facts, *ended]
    inputs = Inputs(
        *(_union(getattr(each.inputs, name) for each in everyone) for name in ("paths", "changed", "fresh"))
    )
    return replace(
        facts, inputs=inputs, events=_merged([facts.events, *_by_workers(used, facts.events)]),
        notes=_union(each.notes for each in everyone),
        placed=dict(sum((Counter(each.placed) for each in everyone), Counter())),
        findings=list(dict.fromkeys(finding for each in everyone for finding in each.findings)),
    )  # fmt: skip


def _events(folder: Path, end: End | None) -> list[Event]:
    """What a child used: all of it, or what it had written down when it was ended from outside."""
    return end.facts.events if end is not None else list(_known(folder, None).events)


def _by_workers(used: list[tuple[ChildProcess, list[Event]]], own: list[Event]) -> list[list[Event]]:
    """The logs of children. What several of them did by the same line of a function, or workers of a pool did, each did
    for the work that it got."""
    users = Counter(event.key for _, events in used for event in events)
    # One worker of several may have got all the work.
    pools = any(event.action == "pool" for event in own) or sum(about.pool for about, _ in used) > 1

    def shared(about: ChildProcess, event: Event) -> bool:
        several = users[event.key] > 1 or (about.pool and pools)
        return several and about.worker is None and not event.context and event.function != "<module>"

    return [
        [replace(event, context=WORKER) if shared(about, event) else event for event in events]
        for about, events in used
    ]


def _failure(workers: Mapping[int, End], blamed: WorkerEnd | None) -> Failure | None:
    """What ended a cluster: others fail because the worker to blame has. One that misses a worker which has come to its end
    failed on nothing else, and one that was at another operation than the others did so for no resource."""
    one_ended = any(end.status == "ended" for end in workers.values())
    failures = (
        end.facts.failure for number, end in workers.items() if blamed is None or number == blamed.number
    )
    return next((each for each in failures if each and not _is_of_others(each, one_ended)), None)


def _is_of_others(failure: Failure, one_ended: bool) -> bool:
    return mismatched(failure) or (one_ended and lost_peer(failure))


def _union(lists: Iterable[list[str]]) -> list[str]:
    return list(dict.fromkeys(item for each in lists for item in each))


def _merged(logs: Iterable[list[Event]]) -> list[Event]:
    """One log: what several processes did by the same line is one event."""
    found: dict[tuple[str, str, str, int, str], Event] = {}
    before = 0
    for log in logs:
        for event in log:
            later = replace(event, order=event.order + before, last=event.last + before)
            known = found.get(event.key)
            found[event.key] = later if known is None else _together(known, later)
        before = max((event.last for event in found.values()), default=0)
    return list(found.values())


def _together(one: Event, other: Event) -> Event:
    return replace(
        one, last=other.last, count=one.count + other.count, size=one.size + other.size,
        processes=tuple(dict.fromkeys((*one.processes, *other.processes))), threads=max(one.threads, other.threads), seeded=one.seeded and other.seeded,
        digest=xxhash.xxh3_64_hexdigest((one.digest + other.digest).encode()), draws=(one.draws + other.draws)[:_MOST_DRAWS],
    )  # fmt: skip
