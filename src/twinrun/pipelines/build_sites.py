"""Which line of the user's code built a dataset, a stage inside a function, or an op.

A dataset that is built eagerly leaves no trace of its builder in its graph, so `note_sites()` notes the
caller on the Python object, which the graph never sees. What is built inside a traced function has a
traceback of its own.
"""

from __future__ import annotations

import inspect
import os
import sys
from dataclasses import dataclass
from typing import Any

from twinrun.twin.callers import is_users

_SITE = "_twinrun_site"
_WRAPPERS = {"__init__", "error_handler", "new_func", "noted", "op_dispatch_handler", "wrapper", "<lambda>"}
_original: Any = None


@dataclass(frozen=True)
class Site:
    """A line of the user's code, and what it called (`shuffle`, `list_files`, …) where that is known."""

    file: str
    line: int
    call: str | None = None

    def __str__(self) -> str:
        return f"{shown_file(self.file)}:{self.line}"


def shown_file(file: str) -> str:
    """A path as the user would write it: relative to here when it lies here."""
    here = os.getcwd() + os.sep  # noqa: PTH109 - for every line that is shown
    return file.removeprefix(here)


def note_sites() -> None:
    """From now on every dataset object remembers the line that built it. Does nothing when it is on already.

    All dataset classes pass through one constructor, so this is the only place to stand. It reads the stack
    and sets one Python attribute: no op is made, no seed is taken.
    """
    global _original
    if _original is not None:
        return
    from tensorflow.python.data.ops import dataset_ops

    from twinrun.pipelines.captured import remember

    original = dataset_ops.DatasetV2.__init__

    def noted(self: Any, variant_tensor: Any) -> None:
        original(self, variant_tensor)
        remember(self)
        site = calling_site()
        if site is not None:
            setattr(self, _SITE, site)

    noted.__wrapped__ = original  # type: ignore[attr-defined]
    dataset_ops.DatasetV2.__init__ = noted
    _original = original


def forget_sites() -> None:
    """Undo `note_sites`. Datasets built in between keep what they know."""
    global _original
    if _original is None:
        return
    from tensorflow.python.data.ops import dataset_ops

    if getattr(dataset_ops.DatasetV2.__init__, "__wrapped__", None) is _original:
        dataset_ops.DatasetV2.__init__ = _original
    _original = None


def noting() -> bool:
    return _original is not None


def calling_site() -> Site | None:
    """The nearest frame of the user's code on this stack, and the library function that it called."""
    inner = None
    frame = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return Site(frame.f_code.co_filename, frame.f_lineno, inner)
        if frame.f_code.co_name not in _WRAPPERS:
            inner = frame.f_code.co_name
        frame = frame.f_back  # type: ignore[assignment]
    return None


def dataset_site(dataset: Any) -> Site | None:
    """The line that built this dataset object, if it was noted."""
    site = getattr(dataset, _SITE, None)
    return site if isinstance(site, Site) else None


def op_site(op: Any) -> Site | None:
    """The innermost line of the user's code in a graph op's own traceback."""
    try:
        frames = list(op.traceback)
    except (AttributeError, TypeError):
        return None
    call = None
    for frame in reversed(frames):
        if is_users(frame.filename):
            return Site(frame.filename, frame.lineno, call)
        if frame.name not in _WRAPPERS:
            call = frame.name
    return None


def callable_site(function: Any) -> Site | None:
    """Where a Python function, method, lambda, partial or callable object is written, if it is the user's."""
    function = getattr(function, "func", function)  # functools.partial
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__code__"):
        function = inspect.getattr_static(type(function), "__call__", None)
    code = getattr(function, "__code__", None)
    if code is None or not is_users(code.co_filename):
        return None
    return Site(code.co_filename, code.co_firstlineno, code.co_name)
