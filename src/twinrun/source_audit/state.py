"""The state of one program while its source is followed in execution order."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from twinrun.knowledge.functions import NUMPY, PYTHON, STREAMS, TENSORFLOW
from twinrun.source_audit.abstract_values import Arguments, Value, plain, total
from twinrun.source_audit.marks import ELEMENT, NONE, Marks, Origin, Site, line_of, without_order
from twinrun.source_audit.program_files import Module, Problem, Roots, Sources

STREAM_NAMES = {
    PYTHON: "Python's random",
    NUMPY: "NumPy's global stream",
    TENSORFLOW: "TensorFlow's global seed",
}

PROGRAM_BUDGET = 400_000  # expressions looked at in one program before the audit gives up on going deeper
LIBRARY_BUDGET = 4_000  # the same for one function or class of a file that others call
PROGRAM_DEPTH = 30
LIBRARY_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Seeding:
    """The state of one global stream: `unseeded`, `seeded`, or `unknown` (a caller may have seeded it)."""

    state: str
    # What the seed itself depends on: a stream seeded with the clock varies as the clock does.
    marks: Marks = NONE


@dataclass(frozen=True, slots=True)
class SeedEvent:
    """A place where a stream was given a seed."""

    stream: str
    when: int
    site: Site
    # What the seed itself was taken from: a seed that was drawn came after the draw, but not too late.
    origins: frozenset[Origin] = frozenset()


@dataclass(frozen=True, slots=True)
class Draw:
    """One draw of randomness, as seen by whoever collects them (a mapped function, a loader)."""

    kind: str  # `op` (a stateful TensorFlow op), `generator`, `keras`, `host` (Python or NumPy)
    site: Site
    what: str
    created: int  # when the generator was created: one created inside the function is not shared
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

    def evaluate(self, node: ast.expr) -> Value:
        """The value of an expression."""
        return self._follow(node) or plain()

    def evaluate_all(self, nodes: Iterable[ast.expr]) -> list[Value]:
        return [self.evaluate(node) for node in nodes]

    def execute(self, body: Iterable[ast.stmt]) -> str | None:
        """Execute statements; returns how the block was left before its end: return, raise, break or continue."""
        before = self.state.control
        jump = None
        for statement in body:
            if self.state.exhausted:
                break
            jump = self._follow(statement)
            if jump:
                break
        self.state.control = before
        return jump

    def _follow(self, node: ast.expr | ast.stmt) -> Any:
        self.state.work += 1
        handler = self.state.syntax.get(type(node))
        return handler(self, node) if handler is not None else None

    def site(self, node: ast.AST) -> Site:
        return Site(self.module.shown, line_of(node))


Syntax = Mapping[type[ast.AST], Callable[[Frame, Any], Any]]


class Rules(Protocol):
    """What calls into other libraries, and assignments to their objects, do. `rules.dispatch` implements it."""

    def call(self, frame: Frame, node: ast.Call, callee: Value, given: Arguments) -> Value: ...

    def assigned(self, frame: Frame, target: ast.expr, value: Value, node: ast.stmt) -> None: ...


@dataclass(eq=False)
class State:
    """One program (or, with `library`, a set of files that others call) being followed."""

    syntax: Syntax  # how each kind of expression is evaluated, and each kind of statement executed
    rules: Rules
    sources: Sources
    roots: Roots
    library: bool = False
    entry: Module | None = None
    # The words after the program on the command line; None when they are not known.
    arguments: tuple[str, ...] | None = None
    streams: dict[str, Seeding] = field(default_factory=dict)
    seeds: list[SeedEvent] = field(default_factory=list)
    op_determinism: Site | None = None
    hash_seed_sites: list[Site] = field(default_factory=list)
    hash_seed_works: bool = False
    worker_config_fixed: bool = False
    global_generator: Value | None = None
    origins: dict[Any, Origin] = field(default_factory=dict)
    clock: int = 0
    pending: dict[Origin, str] = field(default_factory=dict)  # orders that are in a dataset, and where
    # Orders in datasets that the program itself iterates over.
    iterated: set[Origin] = field(default_factory=set)
    # Orders in datasets, or elements of them, that something unknown was given.
    handed_out: set[Origin] = field(default_factory=set)
    control: Marks = NONE
    deferring: bool = False  # what is being executed runs later, when data is read
    collectors: list[Collector] = field(default_factory=list)
    loops: list[UnorderedLoop] = field(default_factory=list)
    repeats: list[list[ast.AST]] = field(default_factory=list)  # the bodies of the loops being executed
    # The call that created the thread whose function is being followed; 0 for the main thread.
    thread: int = 0
    racing: bool = False  # inside what several threads of the program do at a time
    modules: dict[int, Frame] = field(default_factory=dict)
    entered: dict[int, int] = field(default_factory=dict)
    summaries: dict[int, Value] = field(default_factory=dict)
    active: list[int] = field(default_factory=list)
    passes: int = 2
    work: int = 0
    limit: int = PROGRAM_BUDGET
    depth: int = PROGRAM_DEPTH
    # Which function or class of a library is being followed; 0 for a program, and for code of modules.
    root: int = 0
    problems: list[Problem] = field(default_factory=list)
    # The functions defined so far, by module and node.
    functions: dict[int, dict[int, Any]] = field(default_factory=dict)
    loaded: set[int] = field(default_factory=set)  # functions that live code mentions, by node
    # Names of methods that were called on something unknown.
    unknown_methods: set[str] = field(default_factory=set)
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
        for known in (self.entered, self.summaries, self.instances):
            known.clear()

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    @property
    def exhausted(self) -> bool:
        return self.work > self.limit

    # -- origins --------------------------------------------------------------------------------------

    def origin(
        self, code: str, frame: Frame, node: ast.AST, what: str = "", *, stream: str = "", part: str = ""
    ) -> Origin:
        """The origin of this code at this node; the same one each time the node is executed."""
        key = (code, id(node), stream, part)
        if key not in self.origins:
            site, what = frame.site(node), what or source_text(node)
            origin = Origin(
                code, site.file, site.line, what, self.tick(), stream or None, self.deferring, part
            )
            self.origins[key] = origin
        self.origins[key].root = self.root
        return self.origins[key]

    def reach(self, marks: Marks, where: str) -> None:
        """These marks reached training here, and so did what decided that this is executed at all."""
        for origin, _ in marks | self.control:
            if origin.reached is None and origin.root in (0, self.root):
                origin.reached = where

    def escaped(self, marks: Marks) -> None:
        """An element of a dataset was handed to something that cannot be looked into."""
        self.handed_out.update(origin for origin, _ in marks if origin in self.pending)

    def resolve_pending(self) -> None:
        """At the end: orders in datasets that the program did not iterate over have reached training."""
        for origin, where in self.pending.items():
            if origin.reached is None and (origin not in self.iterated or origin in self.handed_out):
                origin.reached = where
        self.pending.clear()

    # -- while something is executed ------------------------------------------------------------------

    @contextmanager
    def during(self, **values: Any) -> Iterator[None]:
        """Attributes that have other values while something is executed."""
        before = {name: getattr(self, name) for name in values}
        vars(self).update(values)
        try:
            yield
        finally:
            vars(self).update(before)

    def controlled(self, marks: Marks) -> AbstractContextManager[None]:
        """What is executed inside depends on a condition with these marks."""
        return self.during(control=self.control | without_order(marks))

    @contextmanager
    def collecting(self, kind: str) -> Iterator[Collector]:
        collector = Collector(kind, self.tick())
        with self.during(collectors=[*self.collectors, collector]):
            yield collector

    def loops_over(self, element: Value) -> list[UnorderedLoop]:
        """The loops being executed and one over such elements, when their order varies."""
        unordered = frozenset(origin for origin, mode in total(element) if mode == ELEMENT)
        return [*self.loops, UnorderedLoop(unordered)] if unordered else self.loops


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
