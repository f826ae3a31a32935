"""Seeding a stream: by the program, recorded; and by a control, applied with a derived seed, read back by who seeded last,
and undone by restoring the state that was there before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twinrun.protocol import Reading, Undo
from twinrun.twin.callers import Caller
from twinrun.twin.pins import Seeding
from twinrun.twin.session import Session, current


def record_seeding(
    session: Session, source: str, call: str, who: Caller | None, seed: Any, set_seed: Callable[[Any], object],
    state: Callable[[], bytes],
) -> None:  # fmt: skip
    """A call that seeds a stream: made, with a fixed seed where it is frozen, and recorded. A seed of None takes fresh
    entropy; `state` then gives what became of it."""
    action = "reseed" if seed is None else "seed"
    number = session.log.frozen(source, action, who)
    value = session.pins.reseeded(source, seed) if number is None else number
    set_seed(value)
    session.pins.seeded(source, value)
    given, shown = (state(), None) if seed is None else (repr(seed).encode(), repr(seed)[:80])
    session.log.record(source, action, who, call, given[:4096], seed=shown)


def apply_seed(
    control: str, value: Any, seed: Callable[[Any], object], restore: Callable[[], object]
) -> Undo:
    """Seed the stream in Twinrun's name. `restore` puts back the state that it has now."""
    pins = current().pins
    with pins.acting():
        seed(value)
    pins.seedings[control] = Seeding(value, "twinrun")  # also where no point listens to the call

    def undo() -> None:
        with pins.acting():
            restore()
        pins.seedings.pop(control, None)

    return undo


def read_seed(control: str, call: str, is_fresh: Callable[[Any], bool]) -> Reading:
    """The last seeding of a stream, and whether anything was drawn since. `is_fresh` tells whether the stream stands
    where this seed starts it."""
    pins = current().pins
    seeding = pins.seedings.get(control)
    if seeding is None:
        if not pins.watching:
            return Reading("unknown", "default", False, "seeding was not watched in this process")
        why = f"nothing called {call}: the operating system chose the seed"
        return Reading("not seeded", "default", False, why)
    if seeding.restored:
        return Reading("replaced by a saved state", seeding.by, True, None, seeding.place)
    if seeding.value is None:
        how = "seeded from the operating system's entropy"
        return Reading(how, seeding.by, False, how, seeding.place)
    shown = seeding.value if isinstance(seeding.value, int) else repr(seeding.value)
    state = {"seed": shown, "drawn": not is_fresh(seeding.value)}
    return Reading(state, seeding.by, True, None, seeding.place)
