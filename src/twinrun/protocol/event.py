"""An event: everything that one line of the program did with one source of nondeterminism."""

from __future__ import annotations

import os
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
WORKER = "worker"  # the context of what several processes do, each for the work that it gets


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Uses of the same source by the same line are one event, with a running digest of the values.

    `source` and `action` say what was used and how (`numpy-random`, `draw`). `subject` tells apart uses that one
    line makes of many things, such as files. `detail` is a struct of the source's own, read with `detail_as`."""

    source: str
    action: str
    file: str
    line: int
    function: str
    call: str  # as the user would write it
    via: str = ""  # the library that the user's line called, where it did not use the source itself
    entry: str = ""  # the function of that library; empty while the library is being imported
    context: str = ""  # "py_function", "generator", "loader", "graph", WORKER, "import of MODULE", or nothing
    subject: str = ""
    order: int = 0  # of its first use, over the whole log
    last: int = 0  # of its last use
    step: int = 0  # of its first use
    count: int = 0
    size: int = 0  # bytes of the values that were seen: none for a random op that only a graph runs
    threads: int = 1
    seeded: bool | None = None  # None: the source has no seed, or it is not known here
    seed: str | None = None  # the value that a call set as seed
    processes: tuple[str, ...] = (
        "",
    )  # the interpreters that did so; one that a process is forked to is the same
    detail: Any = None
    digest: str = ""
    draws: tuple[str, ...] = ()  # digests of the first values, one by one

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        return (self.source, self.action, self.file, self.line, self.subject)

    @property
    def place(self) -> str:
        return f"{relative(self.file)}:{self.line}"

    def detail_as(self, kind: type[T]) -> T:
        """The detail as the struct that the source recorded; one with default values where there is none."""
        return msgspec.convert(self.detail if self.detail is not None else {}, kind)


class Use(msgspec.Struct, frozen=True):
    """A source that was used while a stage of an input pipeline was being built."""

    source: str
    action: str
    file: str
    line: int
    call: str


def relative(path: str) -> str:
    """A path as the user would write it: relative, when it lies below the working directory."""
    short = os.path.relpath(path)
    return path if short.startswith("..") else short
