"""Addresses of objects: `id()`, and the hash of objects without one of their own, by which they lie in a set."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator
from typing import Any

from twinrun.protocol import Evidence, Source, Suspect, Weight
from twinrun.sources.hash_order import suspect_code
from twinrun.twin.callers import is_users
from twinrun.twin.session import Session

_FIRST, _APART = 0x10000, 64  # numbers that look like addresses
_READ = 3  # id() itself is read: added to the weight


class Addresses(Source):
    name = "addresses"
    codes = ("TW301",)
    weight = Weight(init=2, batch=4, later=2)
    makes_seeds = True

    def start(self, session: Session) -> None:
        """No points: only while it is frozen is anything replaced."""
        if session.log.freezes(self.name, ""):
            _freeze()

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        read = evidence.code.addresses()
        places = [*read, *evidence.code.hash_order()]
        if not places:
            return
        yield suspect_code(
            self,
            places,
            "the address of an object (id(), or the hash made from it) differs from process to process",
            weight=self.weight.plus(_READ if read else 0),
            experiment="with the addresses of objects frozen",
            advice="number the objects as they are made, and order them by that number: an address is not a property of an object",
        )


def _freeze() -> None:
    """`id()` counts the objects that the program asks about, and objects of the program's own classes are hashed by the
    order in which they are first hashed."""
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
