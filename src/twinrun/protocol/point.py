"""A point: one foreign function that Twinrun replaces, why, and what is lost where it is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

# What a point is needed for, gravest first.
#   verdict  without it a check cannot tell `repeats`: it is `undecided`, and the point is named
#   cause    without it a cause may be missed: a note on the result says so
#   pin      without it a control cannot be applied: the control says so
#   audit    without it the audit of input pipelines misses something
Need = Literal["verdict", "cause", "pin", "audit"]

# Takes the session of this process and the original, and returns what stands in its place.
Wrap = Callable[[Any, Any], Any]


def replacement(function: Callable[..., Any]) -> Wrap:
    """Decorates a function that is called in place of another: it takes the session and the original before the
    arguments of the call."""

    def wrap(session: Any, original: Any) -> Any:
        return lambda *args, **kwargs: function(session, original, *args, **kwargs)

    return wrap


@dataclass(frozen=True)
class Point:
    """`place` is `module:function` or `module:Class.method`. It is replaced once `after` (by default the module
    itself) has been imported. With `everywhere`, also wherever that package holds the function under some name.
    With `entrance`, the place of another function, only programs that call that one need this point."""

    place: str
    wrap: Wrap = field(repr=False, compare=False)
    reason: str
    needed_for: tuple[Need, ...] = ("cause",)
    tested_on: str = "Python 3.10 to 3.12"
    after: str = ""
    everywhere: str = ""
    entrance: str = ""
    optional: bool = False  # only some releases have it, and those that lack it lose nothing

    @property
    def module(self) -> str:
        return self.place.partition(":")[0]

    @property
    def path(self) -> str:
        return self.place.partition(":")[2]

    @property
    def trigger(self) -> str:
        return self.after or self.module
