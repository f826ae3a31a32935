"""Addresses that stand still, for an experiment: `id()` counts the objects that the program asks about, and objects of
the program's own classes are hashed by the order in which they are first hashed, not by where they lie."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

from twinrun.twin.callers import is_users

_FIRST, _APART = 0x10000, 64  # numbers that look like addresses


def hold_still() -> None:
    number = _numbering()
    real, build = builtins.id, builtins.__build_class__

    def id(thing: Any, /) -> int:
        return number(thing) if is_users(sys._getframe(1).f_code.co_filename) else real(thing)

    def __build_class__(body: Any, name: str, /, *bases: Any, **kwargs: Any) -> Any:  # noqa: N807
        made = build(body, name, *bases, **kwargs)
        by_address = getattr(made, "__hash__", None) is object.__hash__
        if by_address and is_users(body.__code__.co_filename):
            made.__hash__ = lambda self: number(self) // 16  # as object's own does with the address
        return made

    builtins.id = id
    builtins.__build_class__ = __build_class__


def _numbering() -> Callable[[Any], int]:
    address = id
    numbers: dict[int, int] = {}
    kept: list[Any] = []  # what was asked about lives on, so that its address is not given again

    def number(thing: Any) -> int:
        at = address(thing)
        if at not in numbers:
            kept.append(thing)
            numbers[at] = _FIRST + _APART * len(numbers)
        return numbers[at]

    return number
