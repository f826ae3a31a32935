"""The state of one program while its source is followed in execution order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from twinrun.knowledge import NUMPY, PYTHON, STREAMS, TENSORFLOW
from twinrun.source_audit.abstract_values import Arguments, Value
from twinrun.source_audit.marks import (
    NONE,
    VALUE,
    Marks,
    Origin,
    Site,
    as_value,
    line_of,
    with_mode,
    without_order,
)
from twinrun.source_audit.program_files import Module, Problem, Roots, Sources

STREAM_NAMES = {
    PYTHON: "Python's random",
    NUMPY: "NumPy's global stream",
    TENSORFLOW: "TensorFlow's global seed",
}

PROGRAM_BUDGET = 400_000
"""Expressions looked at in one program before the audit gives up on going deeper."""
LIBRARY_BUDGET = 4_000
"""The same for one function or class of a file that others call."""
PROGRAM_DEPTH = 30
LIBRARY_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Seeding:
    """The state of one global stream: `unseeded`, `seeded`, or `unknown` (a caller may have seeded it)."""

    state: str
    marks: Marks = NONE
    """What the seed itself depends on: a stream seeded with the clock varies as the clock does."""


@dataclass(frozen=True, slots=True)
class SeedEvent:
    """A place where a stream was given a seed."""

    stream: str
    when: int
    site: Site
    origins: frozenset[Origin] = frozenset()
    """What the seed itself was taken from: a seed that was drawn came after the draw, but not too late."""


@dataclass(frozen=True, slots=True)
class Draw:
    """One draw of randomness, as seen by whoever collects them (a mapped function, a loader)."""

    kind: str
    """`op` (a stateful TensorFlow op), `generator`, `keras`, `host` (Python or NumPy)."""
    site: Site
    what: str
    created: int
    """When the generator was created: one created inside the function is not shared."""
    origins: tuple[Origin, ...] = ()

    def cover(self, race: Origin) -> None:
        """Once the race is fixed, nothing is left to report about this draw."""
        for origin in self.origins:
            origin.covered_by = race


@dataclass(eq=False, slots=True)
class Collector:
    """Collects the draws of a function that the framework will call: `map`, `host` or `loader`."""

    kind: str
    start: int
    draws: list[Draw] = field(default_factory=list)

    def shared(self, *kinds: str) -> list[Draw]:
        """The draws from random state that was created before, which other calls of the function share."""
        return [draw for draw in self.draws if draw.kind in kinds and draw.created < self.start]


@dataclass(eq=False, slots=True)
class UnorderedLoop:
    """A loop over something whose order varies; counters kept in it depend on that order."""

    origins: frozenset[Origin]
    counters: set[str] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class Frame:
    """One scope being executed: a module's, or a function's."""

    state: State
    module: Module
    names: dict[str, Value]
    outer: Frame | None = None
    declared_global: set[str] = field(default_factory=set)
    declared_outer: set[str] = field(default_factory=set)
    returned: list[Value] = field(default_factory=list)
    yielded: list[Value] = field(default_factory=list)


class Rules(Protocol):
    """What calls into other libraries, and assignments to their objects, do. `rules.dispatch` implements it."""

    def call(self, frame: Frame, node: ast.Call, callee: Value, given: Arguments) -> Value: ...

    def assigned(self, frame: Frame, target: ast.expr, value: Value, node: ast.stmt) -> None: ...


@dataclass(eq=False)
class State:
    """One program (or, with `library`, a set of files that others call) being followed."""

    rules: Rules
    sources: Sources
    roots: Roots
    library: bool = False
    entry: Module | None = None
    arguments: tuple[str, ...] | None = None
    """The words after the program on the command line; None when they are not known."""
    streams: dict[str, Seeding] = field(default_factory=dict)
    seeds: list[SeedEvent] = field(default_factory=list)
    op_determinism: Site | None = None
    hash_seed_sites: list[Site] = field(default_factory=list)
    hash_seed_works: bool = False
    worker_config_fixed: bool = False
    global_generator: Value | None = None
    origins: dict[Any, Origin] = field(default_factory=dict)
    clock: int = 0
    pending: dict[Origin, str] = field(default_factory=dict)
    """Orders that are in a dataset, and where."""
    iterated: set[Origin] = field(default_factory=set)
    """Orders in datasets that the program itself iterates over."""
    handed_out: set[Origin] = field(default_factory=set)
    """Orders in datasets, or elements of them, that something unknown was given."""
    control: Marks = NONE
    deferring: int = 0
    collectors: list[Collector] = field(default_factory=list)
    loops: list[UnorderedLoop] = field(default_factory=list)
    repeats: list[list[ast.AST]] = field(default_factory=list)
    """The bodies of the loops being executed."""
    thread: int = 0
    """The call that created the thread whose function is being followed; 0 for the main thread."""
    racing: int = 0
    """Above 0 inside what several threads of the program do at a time."""
    modules: dict[int, Frame] = field(default_factory=dict)
    entered: dict[int, int] = field(default_factory=dict)
    summaries: dict[int, Value] = field(default_factory=dict)
    active: list[int] = field(default_factory=list)
    passes: int = 2
    work: int = 0
    limit: int = PROGRAM_BUDGET
    depth: int = PROGRAM_DEPTH
    root: int = 0
    """Which function or class of a library is being followed; 0 for a program, and for code of modules."""
    problems: list[Problem] = field(default_factory=list)
    functions: dict[int, dict[int, Any]] = field(default_factory=dict)
    """The functions defined so far, by module and node."""
    loaded: set[int] = field(default_factory=set)
    """Functions that live code mentions, by node."""
    unknown_methods: set[str] = field(default_factory=set)
    """Names of methods that were called on something unknown."""
    instances: dict[int, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.forget_seeds()
        if self.library:
            self.depth = LIBRARY_DEPTH

    def forget_seeds(self) -> None:
        """As at the start of a program; of a library's function, the caller may have seeded or not."""
        state = "unknown" if self.library else "unseeded"
        self.streams = {stream: Seeding(state) for stream in STREAMS}

    def start_root(self) -> None:
        """Begin to follow one function or class of a library, as if nothing had been followed before."""
        self.root += 1
        self.limit = self.work + LIBRARY_BUDGET
        self.forget_seeds()
        self.entered.clear()
        self.summaries.clear()
        self.instances.clear()

    # -- time and budget ------------------------------------------------------------------------------

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    @property
    def exhausted(self) -> bool:
        return self.work > self.limit

    # -- origins --------------------------------------------------------------------------------------

    def site(self, frame: Frame, node: ast.AST) -> Site:
        return Site(frame.module.shown, line_of(node))

    def origin(
        self, code: str, frame: Frame, node: ast.AST, what: str = "", *, stream: str = "", part: str = ""
    ) -> Origin:
        """The origin of this code at this node; the same one each time the node is executed."""
        key = (code, id(node), stream, part)
        if key not in self.origins:
            site, what = self.site(frame, node), what or source_text(node)
            origin = Origin(code, site.file, site.line, what, self.tick(), stream or None, part=part)
            origin.deferred = self.deferring > 0
            self.origins[key] = origin
        self.origins[key].root = self.root
        return self.origins[key]

    def origin_at_draw(self, code: str, draw: Draw) -> Origin:
        """The origin of this code at the place of a draw."""
        key = (code, draw.site)
        if key not in self.origins:
            self.origins[key] = Origin(code, draw.site.file, draw.site.line, draw.what, self.tick())
        return self.origins[key]

    def reach(self, marks: Marks, frame: Frame, node: ast.AST, what: str) -> None:
        """These marks reached training here, and so did what decided that this is executed at all."""
        for origin, _ in marks | self.control:
            if origin.reached is None and origin.root in (0, self.root):
                origin.reached = f"{what} at {self.site(frame, node)}"

    def reach_dataset(self, marks: Marks, frame: Frame, node: ast.AST) -> None:
        """These marks are in a dataset. What varies in it reaches training; an order does, unless the program
        itself iterates over the dataset: then what it does with the elements decides."""
        self.reach(without_order(marks), frame, node, "a dataset")
        for origin, mode in marks:
            if mode != VALUE and origin.root in (0, self.root):
                self.pending.setdefault(origin, f"a dataset at {self.site(frame, node)}")

    def escaped(self, marks: Marks) -> None:
        """An element of a dataset was handed to something that cannot be looked into."""
        self.handed_out.update(origin for origin, _ in marks if origin in self.pending)

    def resolve_pending(self) -> None:
        """At the end: orders in datasets that the program did not iterate over have reached training."""
        for origin, where in self.pending.items():
            if origin.reached is None and (origin not in self.iterated or origin in self.handed_out):
                origin.reached = where
        self.pending.clear()

    # -- global streams -------------------------------------------------------------------------------

    def seed(self, stream: str, frame: Frame, node: ast.AST, value: Value | None) -> None:
        """A global stream is given a seed; None as a value (or no value) means entropy of the system."""
        if value is None or value.constant is None:
            self.streams[stream] = Seeding("unseeded")
            return
        self.streams[stream] = Seeding("seeded", as_value(value.marks))
        origins = frozenset(origin for origin, _ in value.marks)
        self.seeds.append(SeedEvent(stream, self.tick(), self.site(frame, node), origins))

    def draw(
        self,
        stream: str,
        code: str,
        frame: Frame,
        node: ast.AST,
        *,
        kind: str,
        mode: str = VALUE,
        part: str = "",
    ) -> Marks:
        """Draw from a global stream: the marks of the result."""
        seeding = self.streams[stream]
        marks: Marks = NONE
        if seeding.state == "unseeded":
            marks = frozenset({(self.origin(code, frame, node, stream=stream, part=part), mode)})
        elif seeding.marks:
            marks = with_mode(seeding.marks, mode)
        self.collect(kind, frame, node, 0, marks)
        return marks

    def collect(self, kind: str, frame: Frame, node: ast.AST, created: int, marks: Marks = NONE) -> None:
        """Report to the collectors that something random was drawn here."""
        if not self.collectors:
            return
        if kind == "host" and not any(collector.kind in ("host", "loader") for collector in self.collectors):
            kind = "trace"  # in a function that TensorFlow traces: drawn once, when the graph is built
        origins = tuple(origin for origin, _ in marks if origin.stream)
        draw = Draw(kind, self.site(frame, node), source_text(node), created, origins)
        for collector in self.collectors:
            collector.draws.append(draw)

    # -- scopes of attention --------------------------------------------------------------------------

    @contextmanager
    def collecting(self, kind: str) -> Iterator[Collector]:
        collector = Collector(kind, self.tick())
        self.collectors.append(collector)
        try:
            yield collector
        finally:
            self.collectors.pop()

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """What is executed inside runs later, when data is read."""
        self.deferring += 1
        try:
            yield
        finally:
            self.deferring -= 1

    @contextmanager
    def controlled(self, marks: Marks) -> Iterator[None]:
        """What is executed inside depends on a condition with these marks."""
        before = self.control
        self.control = before | without_order(marks)
        try:
            yield
        finally:
            self.control = before


def source_text(node: ast.AST) -> str:
    """How the user wrote it, short enough for a message."""
    if isinstance(node, ast.Call):
        return f"{_short(node.func)}({'…' if node.args or node.keywords else ''})"
    return _short(node)


def _short(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute) and not isinstance(node.value, (ast.Name, ast.Attribute)):
        return f".{node.attr}" if isinstance(node.value, ast.Call) else f"….{node.attr}"
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "…"
