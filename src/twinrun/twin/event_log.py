"""The book itself: one row for each kind of source and call site, with a running digest of what it gave."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import xxhash

from twinrun.twin.callers import is_users, own
from twinrun.twin.recorder import Watch

_MOST_ROWS = 2000
_KEPT_DRAWS = 64  # digests of single draws, so that the first differing one can be named
_PACKAGE = "twinrun"


@dataclass
class Row:
    """Everything one call site did with one kind of source."""

    kind: str
    file: str
    line: int
    function: str
    order: int  # of its first entry, over the whole book
    via: str = ""  # the library that the user's line called, where it did not call the source itself
    entry: str = ""  # the function of that library, and nothing where it was being imported
    what: str = ""  # the call, as the user knows it
    where: str = ""  # "py_function", "generator", "pydataset", "graph", "import of MODULE", or nothing
    count: int = 0
    size: int = 0  # bytes of what it gave that were seen: none of a random op that only a graph will run
    last: int = 0
    step: int = 0  # of its first entry
    seeded: str | None = None
    inside: list[list[Any]] = field(default_factory=list)  # sources met while this stage was being built
    threads: set[int] = field(default_factory=set)
    hasher: Any = field(default_factory=xxhash.xxh3_64)
    draws: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind, "file": self.file, "line": self.line, "function": self.function, "via": self.via,
            "entry": self.entry, "what": self.what, "where": self.where, "count": self.count, "size": self.size,
            "order": self.order, "last": self.last,
            "step": self.step, "seeded": self.seeded, "inside": self.inside, "threads": len(self.threads),
            "digest": self.hasher.hexdigest(), "draws": self.draws,
        }  # fmt: skip


@dataclass(frozen=True)
class Caller:
    file: str
    line: int
    function: str
    via: str  # the library that the user's line called
    where: str
    near: str = ""  # the library that called the source
    entry: str = ""  # the function of a library that the user's line called


class Book:
    def __init__(self, watch: Watch, steady: Sequence[Sequence[Any]] = ()) -> None:
        """`steady`: (kind, file, line) of the sites that an experiment holds still; line None means every site."""
        self.watch = watch
        self._rows: dict[tuple[str, str, int, str], Row] = {}
        self._order = 0
        self._lock = threading.Lock()
        self._steady = {(kind, file, line) for kind, file, line in steady}
        self._steady_kinds = {kind for kind, _, _ in steady}
        self._steady_counts: dict[tuple[str, str, int], int] = {}
        self.meet: Callable[[Any, Caller | None], None] = lambda path, who: (
            None
        )  # a file is read: see inputs.py

    @property
    def order(self) -> int:
        return self._order

    def since(self, order: int, kinds: tuple[str, ...]) -> list[list[Any]]:
        """[kind, file, line, what] of the rows of these kinds that were touched since."""
        with self._lock:
            return [
                [r.kind, r.file, r.line, r.what]
                for r in self._rows.values()
                if r.last > order and r.kind in kinds
            ]

    def note(
        self, kind: str, caller: Caller | None, what: str, data: bytes = b"",
        seeded: str | None = None, inside: list[list[Any]] | None = None,
    ) -> None:  # fmt: skip
        if caller is None or not self.watch.alive:
            return
        apart = what if kind == "file" else ""  # one line may read many files: each has a row
        key = (kind, caller.file, caller.line, apart)
        with self._lock:
            self._order += 1
            row = self._rows.get(key)
            if row is None:
                if len(self._rows) >= _MOST_ROWS:
                    return
                row = self._rows[key] = Row(
                    kind, caller.file, caller.line, caller.function, self._order, caller.via, caller.entry, what, caller.where,
                    step=self.watch.step,
                )  # fmt: skip
            row.count += 1
            row.size += len(data)
            row.last = self._order
            row.seeded = seeded if seeded is not None else row.seeded
            row.inside = inside if inside is not None else row.inside
            row.threads.add(threading.get_ident())
            row.hasher.update(data)
            if len(row.draws) < _KEPT_DRAWS:
                row.draws.append(xxhash.xxh3_64_hexdigest(data))

    def steady(self, kind: str, caller: Caller | None) -> int | None:
        """A number for this call when its site is to be held still: the same in every run, another at every call."""
        if caller is None or kind not in self._steady_kinds:
            return None
        key = (kind, caller.file, caller.line)
        if (
            key not in self._steady
            and (kind, caller.file, None) not in self._steady
            and (kind, "*", None) not in self._steady
        ):
            return None
        with self._lock:
            count = self._steady_counts[key] = self._steady_counts.get(key, 0) + 1
        return xxhash.xxh3_64_intdigest(f"{kind}/{caller.line}/{count}".encode()) & 0x7FFFFFFF

    def turns(self, kind: str, caller: Caller) -> int:
        """How often this site was held still."""
        return self._steady_counts[kind, caller.file, caller.line]

    def holds(self, kind: str) -> bool:
        """Whether an experiment holds any site of this kind still."""
        return kind in self._steady_kinds

    def as_json(self) -> list[dict[str, Any]]:
        with self._lock:
            return [row.as_json() for row in sorted(self._rows.values(), key=lambda row: row.order)]


def caller(skip: int = 2) -> Caller | None:
    """The user's line that led here, and what lies between. None when no frame of the user's is on this stack."""
    if getattr(own, "looking", False):
        return None
    frame: FrameType | None = sys._getframe(skip)
    via = near = entry = ""
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if is_users(file):
            return Caller(file, frame.f_lineno, code.co_name, via, _outer_context(frame), near, entry)
        if "__autograph_generated_file" in file:
            found = _from_autograph(frame)
            if found is not None:
                return Caller(*found, code.co_name.removeprefix("tf__"), via, "graph", near, entry)
        elif package := _package(frame):
            via, entry = package, entry if entry and code.co_name in _WRAPPERS else code.co_name
            near = near or via
        frame = frame.f_back
    return None


# Adapters put their own here, by library: the line to blame for what that library draws by itself.
drawn_for: dict[str, Callable[[Caller], Caller]] = {}


def drawer() -> Caller | None:
    """The line to blame for a draw: the one that led here, or the one that made what draws."""
    who = caller(3)
    known = (
        next((name for name in (who.via, who.near) if name in drawn_for), None) if who is not None else None
    )
    return drawn_for[known](who) if who is not None and known is not None else who


# Functions around the one that a user knows by name.
_WRAPPERS = ("wrapper", "_wrapper", "inner", "inner_f", "wrapped", "decorated", "error_handler", "__call__")


def _package(frame: FrameType) -> str:
    name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return "" if name in (_PACKAGE, "wrapt") else name


# Frames by which a library calls back into the user's code, each with what that means.
_CONTEXTS = (
    ("tensorflow/python/data/ops/from_generator_op", "generator"),
    ("tensorflow/python/ops/script_ops", "py_function"),
    ("trainers/data_adapters/py_dataset_adapter", "pydataset"),
    ("src/utils/data_utils", "pydataset"),
    ("trainers/data_adapters/generator_data_adapter", "generator"),
    ("tensorflow/python/eager/polymorphic_function", "graph"),
)


def _outer_context(frame: FrameType | None) -> str:
    found = module = ""
    depth = 0
    while frame is not None and depth < 60:
        file = frame.f_code.co_filename
        if frame.f_code.co_name == "<module>":
            module = str(frame.f_globals.get("__name__", ""))
        elif module and not found and file.startswith("<frozen importlib"):
            found = f"import of {module}"
        for part, context in _CONTEXTS:
            if part in file:
                if context != "py_function":
                    return context
                found = context  # a generator runs inside a py_function: look further out
        frame = frame.f_back
        depth += 1
    return found


# The TensorFlow adapter puts its own here: autograph runs a copy of the user's function from a generated file.
autograph_origin: list[Callable[[FrameType], tuple[str, int] | None]] = []


def _from_autograph(frame: FrameType) -> tuple[str, int] | None:
    return autograph_origin[0](frame) if autograph_origin else None
