"""The event log: inside a twin, which line used which source of nondeterminism, and what it got. It also knows which
uses an experiment freezes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
import xxhash
from msgspec.structs import replace

from twinrun.protocol import Event, Freeze
from twinrun.protocol.event import Use
from twinrun.twin.callers import Caller

_MOST_EVENTS = 2000
_KEPT_DRAWS = 64  # digests of single values, so that the first differing one can be named
Key = tuple[str, str, str, int]  # source, action, file, line
T = TypeVar("T")


def as_bytes(value: Any) -> bytes:
    """Equal for equal values."""
    return value if isinstance(value, bytes) else repr(value).encode("utf-8", "replace")[:4096]


@dataclass
class _Open:
    """An event that is still growing."""

    first: Event
    last: int = 0
    count: int = 0
    size: int = 0
    seeded: bool | None = None
    seed: str | None = None
    detail: msgspec.Struct | None = None
    threads: set[int] = field(default_factory=set)
    hasher: Any = field(default_factory=xxhash.xxh3_64)
    draws: list[str] = field(default_factory=list)

    def closed(self) -> Event:
        return replace(
            self.first, last=self.last, count=self.count, size=self.size, seeded=self.seeded, seed=self.seed,
            detail=msgspec.to_builtins(self.detail), threads=len(self.threads), digest=self.hasher.hexdigest(),
            draws=tuple(self.draws),
        )  # fmt: skip


class EventLog:
    """`record` notes a use, `frozen` says whether a use is to get the same value in every run. A log that is not
    `recording` records nothing: it belongs to a process that is only pinned, or whose recording has failed."""

    def __init__(self, freezes: Sequence[Freeze] = (), *, recording: bool = True) -> None:
        self.recording = recording
        self.step = 0  # kept current by the recorder
        self.process = ""  # this interpreter, where the program has started it
        self._events: dict[tuple[str, str, str, int, str], _Open] = {}
        self._order = 0
        self._lock = threading.Lock()
        self._freezes = tuple(freezes)
        self._turns: dict[Key, int] = {}
        self._claims: dict[str, dict[str, str]] = {}

    # what was used

    def record(
        self, source: str, action: str, caller: Caller | None, call: str, data: bytes = b"", *,
        subject: str = "", seeded: bool | None = None, seed: str | None = None, detail: msgspec.Struct | None = None,
    ) -> None:  # fmt: skip
        """One use. `data` is what it gave, in bytes that are equal when the values are."""
        if caller is None or not self.recording:
            return
        key = (source, action, caller.file, caller.line, subject)
        with self._lock:
            self._order += 1
            event = self._events.get(key)
            if event is None:
                if len(self._events) >= _MOST_EVENTS:
                    return
                first = Event(
                    source=source, action=action, file=caller.file, line=caller.line, function=caller.function,
                    call=call, via=caller.via, entry=caller.entry, context=caller.context, subject=subject,
                    order=self._order, step=self.step, processes=(self.process,),
                )  # fmt: skip
                event = self._events[key] = _Open(first)
            event.count += 1
            event.size += len(data)
            event.last = self._order
            event.seeded = seeded if seeded is not None else event.seeded
            event.seed = seed if seed is not None else event.seed
            event.detail = detail if detail is not None else event.detail
            event.threads.add(threading.get_ident())
            event.hasher.update(data)
            if len(event.draws) < _KEPT_DRAWS:
                event.draws.append(xxhash.xxh3_64_hexdigest(data))

    def retract(self, source: str, action: str, caller: Caller) -> None:
        """Take back the last use by this line: an event that has no other use is dropped."""
        key = (source, action, caller.file, caller.line, "")
        with self._lock:
            event = self._events.get(key)
            if event is None:
                return
            event.count -= 1
            if not event.count:
                del self._events[key]

    def events(self) -> list[Event]:
        with self._lock:
            return sorted((event.closed() for event in self._events.values()), key=lambda event: event.order)

    def forget(self) -> None:
        """In a forked child: what was used so far was used by another process, whose threads may hold the lock."""
        self._lock = threading.Lock()
        self._events.clear()

    @property
    def order(self) -> int:
        """A mark for `since`."""
        return self._order

    def __len__(self) -> int:
        return len(self._events)

    def since(self, order: int) -> list[Use]:
        """What was used since the mark was taken."""
        with self._lock:
            used = [event.first for event in self._events.values() if event.last > order]
        return [Use(event.source, event.action, event.file, event.line, event.call) for event in used]

    # who a use belongs to

    def claim(self, source: str, libraries: Iterable[str], owner: str) -> None:
        """Uses of `source` by these libraries belong to `owner`."""
        self._claims.setdefault(source, {}).update(dict.fromkeys(libraries, owner))

    def owner(self, source: str, caller: Caller | None) -> str:
        claims = self._claims.get(source)
        if claims is None or caller is None:
            return source
        return claims.get(caller.via) or claims.get(caller.near) or source

    # what is frozen

    def freezes(self, source: str, action: str) -> bool:
        """Whether any use of this kind is frozen, at some line."""
        return any(freeze.covers(source, action) for freeze in self._freezes)

    def freezes_everywhere(self, source: str, action: str = "") -> bool:
        """Whether every use of a source, or every one of this kind, is frozen, at every line."""
        return Freeze(source, action) in self._freezes

    def frozen(self, source: str, action: str, caller: Caller | None) -> int | None:
        """A number for this use when it is frozen: the same in every run, another at every turn."""
        if caller is None or not any(
            freeze.covers(source, action) and freeze.holds_at(caller.file, caller.line)
            for freeze in self._freezes
        ):
            return None
        key = (source, action, caller.file, caller.line)
        with self._lock:
            turn = self._turns[key] = self._turns.get(key, 0) + 1
        return xxhash.xxh3_64_intdigest(f"{source}.{action}/{caller.line}/{turn}".encode()) & 0x7FFFFFFF

    def value(
        self, source: str, action: str, caller: Caller | None, call: str, real: Callable[[], T],
        frozen: Callable[[int], T], data: Callable[[T], bytes] = as_bytes,
    ) -> T:  # fmt: skip
        """What one use gives, recorded: `real()`, or `frozen(number)` where it is frozen."""
        number = self.frozen(source, action, caller)
        value = real() if number is None else frozen(number)
        self.record(source, action, caller, call, data(value))
        return value

    def begin_task(self) -> None:
        """In a worker: what is frozen gives each piece of work the same values, whichever worker gets it."""
        with self._lock:
            self._turns.clear()

    def turns(self, source: str, action: str, caller: Caller) -> int:
        """How often this line was frozen so far."""
        return self._turns[source, action, caller.file, caller.line]
