"""What a control is: a thing that can be pinned, with what it protects, when it must be set, and how it is
applied, read back and undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from twinrun.protocol.pin import PinRequest

# When a control must be set to act at all.
Moment = Literal[
    "before the interpreter starts",
    "before NumPy is imported",
    "before TensorFlow is imported",
    "before the first op",
    "before a model or dataset is built",
]
SetBy = Literal["twinrun", "program", "environment", "default"]

# Puts back what applying changed. Answers None, or why it cannot be put back.
Undo = Callable[[], str | None]


@dataclass(frozen=True)
class Reading:
    """A control as it is now. `ok` says that it protects what it should."""

    state: Any
    set_by: SetBy
    ok: bool
    why_not: str | None = None
    place: str | None = None


def _nothing(request: PinRequest) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Control:
    """`wanted` is the state a request asks for (None: it asks for none), `at_launch` the variables that a
    process must be started with. What is applied inside the process is in `home`, which may import the
    framework and is loaded only once the program has imported it."""

    name: str
    protects: str
    moment: Moment
    how: str
    home: str
    wanted: Callable[[PinRequest], Any]
    framework: str | None = None
    at_launch: Callable[[PinRequest], Mapping[str, str]] = _nothing


@dataclass(frozen=True)
class Actions:
    """What a control does inside a process. `apply` raises NotApplied for what only a launch can set."""

    read: Callable[[PinRequest | None], Reading]
    apply: Callable[[PinRequest], Undo | None]


class NotApplied(Exception):
    """Raised by `apply`: the control could not be applied, and why."""
