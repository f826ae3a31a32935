"""Evidence: what two twins that differ know, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from twinrun.comparison.frames import Difference
from twinrun.findings.finding import Finding
from twinrun.protocol.event import Event
from twinrun.recording.frame import PHASES

Pair = tuple[Event | None, Event | None]  # the same use in both twins; None where one did not get there
CodePlace = tuple[str, int, str]  # file, line, what is written there

# Libraries through which a line of the user's own uses a source: the line is to blame as if it had done so itself.
TRANSPARENT_LIBRARIES = frozenset(
    {"", "uuid", "secrets", "random", "numpy", "glob", "pathlib", "os", "concurrent", "threading", "tempfile",
     "multiprocessing"}
)  # fmt: skip


MOST_SAMPLED = 256  # elements of a tensor
MOST_OPS = 20_000  # of a step, or of the input pipeline, that are traced


class Sample(msgspec.Struct, frozen=True):
    """Some elements of a tensor, the same of each twin's."""

    dtype: str
    data: bytes


class TracedOp(msgspec.Struct, kw_only=True):
    """One op as it ran: digests of what went in and came out, and where it belongs. None: not a tensor with a value."""

    op: str
    inputs: list[str | None]
    outputs: list[str | None]
    file: str | None = None
    line: int | None = None
    layer: str | None = None
    forward: str | None = None  # for an op of a gradient: the forward op it belongs to
    gradient: bool = False
    stateful: bool = False
    trained: bool = False
    # Where twins on different devices are compared: where it ran, and what came out. None: no numbers.
    device: str = ""
    samples: list[Sample | None] = []


class Trace(msgspec.Struct, tag="trace"):
    """Ops in the order in which they ran: of the step, and of the input pipeline from its beginning."""

    step: list[TracedOp] = []
    pipeline: list[TracedOp] = []
    cut: bool = False  # more ran than MOST_OPS


class Code(Protocol):
    """The program's own source, read for what no event shows."""

    def audited(self) -> Sequence[Finding]:
        return ()

    def hash_order(self) -> list[CodePlace]:
        return []

    def addresses(self) -> list[CodePlace]:
        return []

    def draws_of_class(self, file: str, line: int) -> list[CodePlace]:
        return []


class NoCode(Code):
    """Stands in where the source cannot be read."""


@dataclass(frozen=True)
class Evidence:
    first: Difference
    pairs: tuple[Pair, ...] = ()
    streams: tuple[str, ...] = ()  # random streams of the framework whose state differs
    traces: tuple[Trace, Trace] | None = None
    code: Code = field(default_factory=NoCode)
    datasets: tuple[Finding, ...] = ()  # what an audit finds in those that a twin was iterating
    compared: tuple[str, ...] = ()  # phases that were, at the step where the twins part
    drift: bool = False  # the twins agree: `first` is a difference between replicas that must be equal
    devices: tuple[str, ...] = ()  # that the twins were given
    contract: str = "bitwise"
    also: tuple[str, ...] = ()  # what else differs at the step where the twins part, as "phase: tensor"

    @property
    def early(self) -> tuple[int, int]:
        """Where in the run the twins part, for telling whether an experiment moved the difference to later."""
        return (self.first.step, PHASES.index(self.first.phase))

    @property
    def phase(self) -> str:
        """`init`, `batch` or `later`: the three cases in which suspects are weighed differently."""
        if self.first.step == 0:
            return "init"
        return "batch" if self.first.phase == "batch" else "later"

    @property
    def fed_alike(self) -> bool:
        """Whether the twins part although they were given the same batch."""
        return "batch" in self.compared and self.phase == "later" and self.first.span == 1

    @property
    def losses_alike(self) -> bool:
        """Whether what the forward pass gave was equal, and what differs was computed from it."""
        return (
            self.first.phase in ("gradient", "weights") and "loss" in self.compared and self.first.span == 1
        )

    def of(self, source: str | None, *actions: str) -> list[Pair]:
        """The uses of a source (None: of any), by both twins; of these actions only, where any are given."""
        return [
            pair
            for pair in self.pairs
            if source in (None, one(pair).source) and (not actions or one(pair).action in actions)
        ]

    def seeds(self, stream: str | None = None) -> list[Pair]:
        """Calls that set the seed of a stream, or of any stream."""
        return self.of(stream, "seed")

    def differing_seeds(self, stream: str | None = None) -> list[Event]:
        """Calls that seeded a stream, with another value in each twin."""
        return [one(pair) for pair in self.seeds(stream) if differs(pair)]


def side_by_side(a: Iterable[Event], b: Iterable[Event]) -> tuple[Pair, ...]:
    in_a, in_b = ({event.key: event for event in events} for events in (a, b))
    return tuple((in_a.get(key), in_b.get(key)) for key in dict.fromkeys((*in_a, *in_b)))


def one(pair: Pair) -> Event:
    event = pair[0] if pair[0] is not None else pair[1]
    assert event is not None
    return event


def differs(pair: Pair) -> bool:
    """Whether this line got different values in the two twins, as far as both of them got."""
    a, b = pair
    if a is None or b is None:
        return True
    shared = min(len(a.draws), len(b.draws))
    if a.draws[:shared] != b.draws[:shared]:
        return True
    return a.count == b.count and a.digest != b.digest


def is_direct(event: Event) -> bool:
    """The user's own line used the source, itself or through a library that only hands it on."""
    return event.via in TRANSPARENT_LIBRARIES


def in_library(event: Event) -> bool:
    """Used inside a library that the user's line called; not while one was being imported."""
    return not is_direct(event) and event.via not in ("importlib", "runpy")
