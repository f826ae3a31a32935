"""Random generators that are made without a seed: `random.Random()`, `np.random.default_rng()`, `RandomState()`, and
those that libraries make for themselves, such as the environments of gymnasium. `random.Random` is watched together with
Python's global stream, whose class it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from twinrun.knowledge.library_seeds import seedless
from twinrun.protocol import Event, Evidence, Point, Source, Suspect, Weight, differs, one, replacement
from twinrun.protocol.evidence import in_library, is_direct
from twinrun.sources import augmentation, gym_environments
from twinrun.sources.entropy import stretched
from twinrun.sources.library_generators import (
    LIBRARY_GENERATORS,
    NAME,
    OF_NUMPY,
    pinned_seed,
    record_making,
    take_last_making,
)
from twinrun.sources.stream import LIBRARY, drawn, library, seed_to_write
from twinrun.twin.callers import caller, own, unseen
from twinrun.twin.session import Session


@replacement
def _randbits(session: Session, original: Callable[[int], int], k: int) -> int:
    """NumPy's own copy of `secrets.randbits`, by which every generator without a seed takes its entropy."""
    who = caller(passes=gym_environments.is_inside)
    if getattr(own, "looking", False) or gym_environments.is_worker(who):
        return original(k)
    number = session.log.frozen(NAME, "make", who)
    pinned = pinned_seed(session, who, below=1 << k)
    if number is not None:
        value = int.from_bytes(stretched(number, (k + 7) // 8), "little") >> (-k % 8)
    elif pinned is not None:
        value = pinned
    else:
        with unseen():
            value = original(k)
    # A library's own generator counts too, unless it is made while the library is imported.
    if who is not None and who.via != "importlib":
        record_making(session, who, OF_NUMPY, str(value).encode())
    return value


def seeded_after_all(session: Session) -> None:
    """`RandomState(0)` takes entropy too, and is seeded right after that: then it was not made without a seed."""
    made = take_last_making()
    who = caller(3) if made is not None else None
    if made is not None and who is not None and (made.file, made.line) == (who.file, who.line):
        session.log.retract(NAME, "make", made)


class Generators(Source):
    name = NAME
    codes = ("TW103",)
    actions = ("make",)
    makes_seeds = True
    weight = Weight(init=8, batch=9, later=7)
    points = (
        Point(
            "numpy.random.bit_generator:randbits",
            _randbits,
            "NumPy generators made without a seed",
            ("cause", "pin"),
            tested_on="NumPy 1.26 to 2.4",
            after="numpy.random",
        ),
        *gym_environments.POINTS,
        *augmentation.POINTS,
    )
    controls = (LIBRARY_GENERATORS,)

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        """One for each line. Generators that a library makes for the same reason share a fix."""
        for pair in evidence.of(self.name, "make"):
            event = one(pair)
            if not differs(pair) or not (is_direct(event) or in_library(event)):
                continue
            known = is_direct(event) or seedless(event.via, event.entry)
            yield self.suspect(
                [event],
                _message(event),
                weight=self.weight.plus(0 if known else LIBRARY),
                notes=(f"{drawn(event)} is made at {event.place}",),
                experiment=f"with {drawn(event)} frozen there",
                in_words=seed_to_write(event),
                fix="" if is_direct(event) else _fix(event),
            )


def _fix(event: Event) -> str:
    known = seedless(event.via, event.entry)
    return known.write if known is not None else f"{event.via} {event.entry}"


def _message(event: Event) -> str:
    known = seedless(event.via, event.entry)
    if known is not None:
        return known.problem
    if is_direct(event):
        what = "a random generator is made without a seed"
        return f"{OF_NUMPY} is made without a seed" if event.call == OF_NUMPY else f"{what}: {event.call}"
    return f"{library(event)} makes a random generator without a seed"
