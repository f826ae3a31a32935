"""Controls that seed a stream: applied with a derived seed, read back by who seeded last, and undone by restoring the
state that was there before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twinrun.protocol.control import Reading, Undo
from twinrun.twin.pins import Seeding
from twinrun.twin.session import current


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
