"""The control over generators that libraries make without a seed. Part of the source `generators`."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from twinrun.protocol import Control, PinRequest, Reading, derive
from twinrun.protocol.evidence import TRANSPARENT_LIBRARIES, in_library
from twinrun.twin.callers import Caller
from twinrun.twin.session import Session, current

NAME = "generators"
_CONTROL = "library-generators"
OF_NUMPY, OF_PYTHON = "a NumPy generator", "random.Random"  # what is made, as events name it


def pinned_seed(session: Session, who: Caller | None, *, below: int = 1 << 32) -> int | None:
    """The seed of a generator that a library makes without one, while such generators are pinned. One that the program
    makes itself is the program's own decision."""
    pins = session.pins
    own = who is not None and who.via in TRANSPARENT_LIBRARIES
    if own or pins.request is None or not pins.pins(_CONTROL):
        return None
    maker = f"generator of {who.via}.{who.entry}" if who is not None else "generator"
    # Worker processes start with the same count, and need seeds of their own.
    worker = multiprocessing.current_process().name
    return derive(pins.request.seed_of(_CONTROL), f"{maker}\n{worker}\n{pins.turn(maker)}", below=below)


class _Made(threading.local):
    """Lines that were recorded as making generators, in this thread."""

    last: Caller | None = None  # that of a NumPy generator
    by: list[Caller] | None = None  # those that `makings` collects


_made = _Made()


def record_making(session: Session, who: Caller | None, what: str, data: bytes) -> None:
    """A generator was made without a seed, and got this entropy."""
    if who is None:
        return
    session.log.record(NAME, "make", who, what, data)
    _made.last = who if what == OF_NUMPY else _made.last
    if _made.by is not None:
        _made.by.append(who)


@contextmanager
def makings() -> Iterator[list[Caller]]:
    """The lines by which generators are made in the meantime, except those that a `makings` inside collects."""
    around, _made.by = _made.by, []
    try:
        yield _made.by
    finally:
        _made.by = around


def take_last_making() -> Caller | None:
    """The line that made a NumPy generator last; it is given once."""
    last, _made.last = _made.last, None
    return last


def _wanted(request: PinRequest) -> str:
    return "seeded when they are made"


def _read(request: PinRequest | None) -> Reading:
    session = current()
    made = sum(
        event.count
        for event in session.log.events()
        if event.source == NAME and event.call in (OF_NUMPY, OF_PYTHON) and in_library(event)
    )
    if _CONTROL in session.pins.applied:
        return Reading(f"{made} seeded" if made else "none made", "twinrun", True)
    if made:
        why = "libraries made generators without a seed, which start from the operating system's entropy"
        return Reading(f"{made} made without a seed", "default", False, why)
    return Reading("none made", "default", True)


LIBRARY_GENERATORS = Control(
    name=_CONTROL,
    protects="generators that libraries make without a seed (gymnasium's environments and spaces, albumentations, …)",
    moment="before a model or dataset is built",
    how="give the library's call a seed: env.reset(seed=42), env.action_space.seed(42), A.Compose(…, seed=42)",
    wanted=_wanted,
    apply=lambda request: None,
    read=_read,
    streams={_CONTROL: "generators that libraries make without a seed"},
)
