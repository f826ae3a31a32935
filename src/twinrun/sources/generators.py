"""Random generators that are made without a seed: `random.Random()`, `np.random.default_rng()`, `RandomState()`.
`random.Random` is watched together with Python's global stream, whose class it is."""

from __future__ import annotations

import threading
from collections.abc import Callable

from twinrun.protocol import Point, Weight, replacement
from twinrun.sources.entropy import stretched
from twinrun.sources.fresh_values import FreshValues
from twinrun.twin.callers import Caller, caller, unseen
from twinrun.twin.session import Session

NAME = "generators"
_made = threading.local()  # `by`: the line that was last recorded as making a NumPy generator, in this thread


@replacement
def _randbits(session: Session, original: Callable[[int], int], k: int) -> int:
    """NumPy's own copy of `secrets.randbits`, by which every generator without a seed takes its entropy."""
    who = caller()
    number = session.log.frozen(NAME, "make", who)
    if number is not None:
        value = int.from_bytes(stretched(number, (k + 7) // 8), "little") >> (-k % 8)
    else:
        with unseen():
            value = original(k)
    # A library's own generator counts too, unless it is made while the library is imported.
    if who is not None and who.via != "importlib":
        session.log.record(NAME, "make", who, "a NumPy generator", str(value).encode())
        _made.by = who
    return value


def seeded_after_all(session: Session) -> None:
    """`RandomState(0)` takes entropy too, and is seeded right after that: then it was not made without a seed."""
    made: Caller | None = getattr(_made, "by", None)
    _made.by = None
    who = caller(3) if made is not None else None
    if made is not None and who is not None and (made.file, made.line) == (who.file, who.line):
        session.log.retract(NAME, "make", made)


class Generators(FreshValues):
    name = NAME
    codes = ("TW103",)
    actions = ("make",)
    messages = (("make", "a random generator is made without a seed"),)
    weight = Weight(init=8, batch=9, later=7)
    points = (
        Point(
            "numpy.random.bit_generator:randbits",
            _randbits,
            "NumPy generators made without a seed",
            tested_on="NumPy 1.26 to 2.4",
            after="numpy.random",
        ),
    )
