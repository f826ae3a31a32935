"""Everything that can be reached from somewhere, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

One = TypeVar("One")


def walk(start: One, after: Callable[[One], Iterable[One]], key: Callable[[One], Any] = id) -> Iterator[One]:
    """`start`, what comes `after` it, and so on. Things with the same `key` are the same."""
    waiting, seen = [start], set()
    while waiting:
        one = waiting.pop()
        if key(one) not in seen:
            seen.add(key(one))
            yield one
            waiting += after(one)
