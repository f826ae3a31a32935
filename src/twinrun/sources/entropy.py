"""Entropy of the operating system, as `os.urandom`, `secrets`, `uuid.uuid4` and `random.SystemRandom` give it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import xxhash

from twinrun.protocol import Event, Point, Weight, replacement
from twinrun.sources.fresh_values import FreshValues
from twinrun.twin.callers import caller
from twinrun.twin.session import Session

NAME = "entropy"
# How a user's own line asks for entropy: directly, or through these.
_CALLS = {"": "os.urandom", "uuid": "uuid4", "secrets": "secrets", "random": "random.SystemRandom"}


@replacement
def _urandom(session: Session, original: Callable[[int], bytes], size: int) -> bytes:
    who = caller()
    via = who.via if who is not None else ""
    action, call = "read" if via in _CALLS else "library", _CALLS.get(via, "os.urandom")
    real, frozen = partial(original, size), partial(stretched, size=size)
    return session.log.value(NAME, action, who, call, real, frozen)


def stretched(number: int, size: int) -> bytes:
    """So many bytes made from a number."""
    parts = [xxhash.xxh3_128_digest(f"{number}/{part}".encode()) for part in range(size // 16 + 1)]
    return b"".join(parts)[:size]


class Entropy(FreshValues):
    name = NAME
    codes = ("TW108",)
    actions = ("read", "library")
    messages = (("read", "entropy of the operating system is drawn"),)
    weight = Weight(init=4, batch=5, later=4)
    points = (
        Point("os:urandom", _urandom, "reads of the operating system's entropy"),
        Point("random:_urandom", _urandom, "the copy of os.urandom that random.SystemRandom and secrets use"),
    )

    def is_shown(self, event: Event) -> bool:
        """Of a uuid or a token, and what a library takes for itself: where a seed or a generator is made of it, that is
        an event of its own."""
        return event.action == "library" or event.call in ("uuid4", "secrets")
