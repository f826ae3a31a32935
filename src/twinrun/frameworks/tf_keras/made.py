"""Where a layer of tf_keras was made. It draws its weights when it is first called, which may be far away: what the user
would seed, and looks for, is the line that made the layer."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

from twinrun.twin.callers import is_users
from twinrun.twin.event_log import Caller, caller

_made: weakref.WeakKeyDictionary[Any, Caller] = weakref.WeakKeyDictionary()


def wrap_layer_init(original: Callable[..., Any]) -> Callable[..., Any]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        who = caller()
        if who is not None:
            _made[self] = who
        original(self, *args, **kwargs)

    return __init__


def where_made(who: Caller) -> Caller:
    """The line that made the layer for which this is drawn, where a library's layer draws by itself."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not is_users(frame.f_code.co_filename):
        if frame.f_code.co_name == "build":
            made = _made.get(frame.f_locals.get("self"))
            if made is not None:
                return replace(who, file=made.file, line=made.line, function=made.function)
        frame = frame.f_back
    return who
