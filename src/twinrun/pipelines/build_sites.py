"""Which line of the user's code built a dataset, a stage inside a function, or an op.

A dataset built eagerly leaves no trace of its builder in its graph, so `note_sites()` stores the caller on the
Python object, which the graph never sees. What is built inside a traced function has a traceback of its own.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from twinrun.pipelines.lifted_graph import remember
from twinrun.protocol.point import Point, replacement
from twinrun.twin import callers
from twinrun.twin.session import current

TESTED_ON = "TensorFlow 2.18 to 2.21"
GENERATED = "__autograph_generated_file"  # holds AutoGraph's copy of a function of the user's
_SITE = "_twinrun_site"
_WRAPPERS = {"__init__", "error_handler", "new_func", "_noted", "op_dispatch_handler", "wrapper", "<lambda>"}
_noting = False


@dataclass(frozen=True)
class Site:
    """A line of the user's code, and what it called (`shuffle`, `list_files`, …) where that is known."""

    file: str
    line: int
    call: str | None = None

    def __str__(self) -> str:
        return f"{shown_file(self.file)}:{self.line}"


def shown_file(file: str) -> str:
    """A path as the user would write it: relative to the working directory when it is below it."""
    here = os.getcwd() + os.sep  # noqa: PTH109 - for every line that is shown
    return file.removeprefix(here)


def is_users(file: str) -> bool:
    return GENERATED not in file and callers.is_users(file)


def note_sites() -> None:
    """From now on every dataset object remembers the line that built it. Calling it again does nothing."""
    global _noting
    _noting = True
    current().patches.install("pipelines", [CONSTRUCTOR])


def forget_sites() -> None:
    """Undo `note_sites`. Datasets built in between keep their sites."""
    global _noting
    _noting = False


@replacement
def _noted(session: Any, original: Any, dataset: Any, variant_tensor: Any) -> None:
    """Reads the stack and sets one Python attribute; creates no op and takes no seed."""
    original(dataset, variant_tensor)
    if _noting:
        with contextlib.suppress(Exception):  # then the line is not known; the program goes on
            remember(dataset)
            setattr(dataset, _SITE, calling_site())


CONSTRUCTOR = Point(
    "tensorflow.python.data.ops.dataset_ops:DatasetV2.__init__",
    _noted,
    "all dataset classes pass through it: the line that builds one is known only then",
    ("audit",),
    TESTED_ON,
    after="tensorflow",
)


def calling_site() -> Site | None:
    """The nearest frame of the user's code on this stack, and the library function that it called."""
    stack = traceback.walk_stack(sys._getframe(1))
    return _nearest((frame.f_code.co_filename, line, frame.f_code.co_name) for frame, line in stack)


def op_site(op: Any) -> Site | None:
    """The innermost line of the user's code in a graph op's own traceback."""
    try:
        frames = list(op.traceback)
    except (AttributeError, TypeError):
        return None
    return _nearest((frame.filename, frame.lineno, frame.name) for frame in reversed(frames))


def _nearest(frames: Iterable[tuple[str, int, str]]) -> Site | None:
    """The first of these (file, line, function) that is the user's."""
    call = None
    for file, line, function in frames:
        if is_users(file):
            return Site(file, line, call)
        if function not in _WRAPPERS:
            call = function
    return None


def dataset_site(dataset: Any) -> Site | None:
    """The line that built this dataset object, if it was noted."""
    return getattr(dataset, _SITE, None)
