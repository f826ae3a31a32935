"""A control: one thing that can be pinned, with what it protects, when it must be set, and how it is applied, read
back and undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from twinrun.protocol.pin import PinRequest
from twinrun.protocol.point import Point

SetBy = Literal["twinrun", "program", "environment", "default"]

# Puts back what applying changed. Returns None, or why it cannot be put back.
Undo = Callable[[], str | None]


@dataclass(frozen=True)
class Reading:
    """A control as it is now. `ok`: it protects what it should. `idle`: there is nothing here that it could act on."""

    state: Any
    set_by: SetBy
    ok: bool
    why_not: str | None = None
    place: str | None = None
    idle: bool = False


class NotApplied(Exception):
    """Raised by `apply`: the control could not be applied, and why."""


@dataclass(frozen=True)
class Control:
    """`wanted` is the state a request asks for (None: it asks for none), `at_launch` the variables that a process must
    be started with. `apply` and `read` run inside the process, once `module` has been imported; `apply` raises
    NotApplied for what only a launch can set. `points` are installed when the control is applied."""

    name: str
    protects: str
    moment: str  # when it must be set to act at all: "before the interpreter starts"
    how: str
    wanted: Callable[[PinRequest], Any]
    apply: Callable[[PinRequest], Undo | None]
    read: Callable[[PinRequest | None], Reading]
    module: str | None = None
    at_launch: Callable[[PinRequest], Mapping[str, str]] = lambda request: {}
    points: Sequence[Point] = ()
    needs: Sequence[str] = ()  # controls without which a program may fail under this one
    refusal: str = ""  # the code of a program that cannot run under it: `allow=CODE` goes on without it
    streams: Mapping[str, str] = field(
        default_factory=dict
    )  # whose seeds it derives, and what each of them moves


class ControlState(msgspec.Struct, frozen=True, kw_only=True):
    """A control as read back from a process."""

    state: Any
    requested: Any
    set_by: str
    place: str | None
    protects: str
    ok: bool
    why_not: str | None
    changed: bool
    used: bool
    idle: bool = False
    moment: str
    how: str
