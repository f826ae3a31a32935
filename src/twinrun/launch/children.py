"""The processes that a twin started, as they are found in its folder, and what they know."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import xxhash
from msgspec.structs import replace

from twinrun.errors import BadRecording
from twinrun.protocol import Event, Facts
from twinrun.protocol import child as files
from twinrun.protocol.child import ChildProcess
from twinrun.protocol.facts import Inputs
from twinrun.protocol.messages import End, Trouble
from twinrun.recording.store import FILE, Reader

Found = TypeVar("Found", End, Trouble)
_MOST_DRAWS = 64


class Content(NamedTuple):
    """Equal for equal recordings."""

    frames: int = 0
    steps: int = 0
    chain: bytes = b""
    observed: bool = False  # something was trained, evaluated or probed


@dataclass(frozen=True)
class Child:
    about: ChildProcess
    folder: Path
    end: End | None
    trouble: Trouble | None
    cut_off: bool  # by the program, or by its end; not by itself

    @property
    def trained(self) -> bool:
        return (self.folder / FILE).is_file() and (self.content.observed or self.end is None)

    @property
    def status(self) -> str:
        if self.end is not None:
            return self.end.status
        return "cut off" if self.cut_off else "lost"

    @property
    def place(self) -> tuple[list[int], str]:
        """Of its start, among all processes of the program."""
        return [int(part) for part in self.about.identity.split(".")], self.folder.name

    @cached_property
    def content(self) -> Content:
        try:
            reader = Reader(self.folder)
            frames = len(reader)
            chain = reader.chain_at(frames - 1) if frames else b""
            found = Content(frames, reader.last_step(), chain, reader.first_observation() is not None)
            reader.close()
            return found
        except BadRecording:  # killed before it had written anything
            return Content()


def children_of(twin: Path) -> list[Child]:
    """In the order in which they were started."""
    home = twin / files.FOLDER
    signalled = set()
    with contextlib.suppress(OSError):
        signalled = set((home / files.SIGNALLED).read_text().split())
    found = []
    for file in home.glob(f"*/{files.FILE}"):
        with contextlib.suppress(OSError, ValueError):  # one that was just being started
            about = msgspec.json.decode(file.read_bytes(), type=ChildProcess)
            end, trouble = (
                _read(file.with_name(files.END), End),
                _read(file.with_name(files.TROUBLE), Trouble),
            )
            cut_off = end is None and (str(about.pid) in signalled or _alive(about.pid))
            found.append(Child(about, file.parent, end, trouble, cut_off))
    return sorted(found, key=lambda child: child.place)


def _read(file: Path, kind: type[Found]) -> Found | None:
    with contextlib.suppress(OSError, ValueError):
        return msgspec.json.decode(file.read_bytes(), type=kind)
    return None


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"


def with_children(facts: Facts, twin: Path) -> Facts:
    """The facts of a twin, with what its children used and read."""
    ended = [child.end.facts for child in children_of(twin) if child.end is not None]
    if not ended:
        return facts
    everyone = [facts, *ended]
    inputs = Inputs(
        *(_union(getattr(each.inputs, name) for each in everyone) for name in ("paths", "changed", "fresh"))
    )
    return replace(
        facts, inputs=inputs, events=_merged(each.events for each in everyone),
        notes=_union(each.notes for each in everyone),
        findings=list(dict.fromkeys(finding for each in everyone for finding in each.findings)),
    )  # fmt: skip


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
        threads=max(one.threads, other.threads), seeded=one.seeded and other.seeded,
        digest=xxhash.xxh3_64_hexdigest((one.digest + other.digest).encode()), draws=(one.draws + other.draws)[:_MOST_DRAWS],
    )  # fmt: skip
