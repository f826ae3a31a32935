"""The controls of Python itself, of NumPy and of the libraries below them: applied and read back without a
framework."""

from __future__ import annotations

import ctypes
import functools
import os
import random
import sys
from pathlib import Path
from typing import Any

from twinrun.protocol import seeds
from twinrun.protocol.control import Actions, NotApplied, Reading, SetBy, Undo
from twinrun.protocol.pin import PinRequest
from twinrun.sources import settings, streams
from twinrun.sources.hashing import effective_hash_seed
from twinrun.twin.pins import Seeding, current

# Watching who seeds: the calls themselves are passed through untouched.


def watch_python_random() -> None:
    if getattr(random.seed, "_twinrun", False):
        return
    seed, setstate = random.seed, random.setstate

    @functools.wraps(seed)
    def watched_seed(a: Any = None, version: int = 2) -> None:
        seed(a, version)
        current().seeded("python-random", a)

    @functools.wraps(setstate)
    def watched_setstate(state: Any) -> None:
        setstate(state)
        current().seeded("python-random", None, restored=True)

    watched_seed._twinrun = True  # type: ignore[attr-defined]
    random.seed, random.setstate = watched_seed, watched_setstate


def _numpy_random() -> Any:
    """Not by an import statement: right after its import the package does not know it as an attribute yet."""
    return sys.modules["numpy.random"]


def watch_numpy_random() -> None:
    """Called when `numpy.random` is imported."""
    np_random = _numpy_random()
    if getattr(np_random.seed, "_twinrun", False):
        return
    seed, set_state = np_random.seed, np_random.set_state

    @functools.wraps(seed)
    def watched_seed(*given: Any, **named: Any) -> None:
        seed(*given, **named)
        current().seeded("numpy-random", (*given, *named.values(), None)[0])

    @functools.wraps(set_state)
    def watched_set_state(*given: Any, **named: Any) -> None:
        set_state(*given, **named)
        current().seeded("numpy-random", None, restored=True)

    watched_seed._twinrun = True  # type: ignore[attr-defined]
    np_random.seed, np_random.set_state = watched_seed, watched_set_state


# Python's random


def apply_python_random(request: PinRequest) -> Undo:
    before = random.getstate()
    with current().acting():
        random.seed(seeds.python_seed(request.seed))
    # Where seeding is not watched (a saved reference to the plain function), say it ourselves.
    current().seedings["python-random"] = Seeding(seeds.python_seed(request.seed), "twinrun")

    def undo() -> None:
        with current().acting():
            random.setstate(before)
        current().seedings.pop("python-random", None)

    return undo


def read_python_random(request: PinRequest | None) -> Reading:
    return seeded_stream(
        "python-random",
        "random.seed",
        lambda value: streams.python_position(value, random.getstate()),
    )


# NumPy's global stream


def apply_numpy_random(request: PinRequest) -> Undo:
    np_random = _numpy_random()
    before = np_random.get_state(legacy=False)
    with current().acting():
        np_random.seed(seeds.numpy_seed(request.seed))
    current().seedings["numpy-random"] = Seeding(seeds.numpy_seed(request.seed), "twinrun")

    def undo() -> None:
        with current().acting():
            np_random.set_state(before)
        current().seedings.pop("numpy-random", None)

    return undo


def read_numpy_random(request: PinRequest | None) -> Reading:
    if "numpy.random" not in sys.modules:
        return Reading("numpy.random is not imported", "default", True)

    def position(seed: Any) -> int | None:
        np_random = _numpy_random()
        state: Any = np_random.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            return None
        return streams.numpy_position(seed, state["state"]["key"], int(state["state"]["pos"]))

    return seeded_stream("numpy-random", "np.random.seed", position)


def seeded_stream(control: str, call: str, position: Any) -> Reading:
    """Read a stream back: who seeded it last, and is the stream that is there really that seed's?"""
    session = current()
    seeding = session.seedings.get(control)
    if seeding is None:
        if not session.watching:
            return Reading("unknown", "default", False, "seeding was not watched in this process")
        return Reading(
            "not seeded", "default", False, f"nothing called {call}: the operating system chose the seed"
        )
    if seeding.value is None:
        how = (
            "replaced by a saved state" if seeding.restored else "seeded from the operating system's entropy"
        )
        return Reading(how, by(seeding), seeding.restored, None if seeding.restored else how, seeding.place)
    shown = seeding.value if isinstance(seeding.value, int) else repr(seeding.value)
    drawn = position(seeding.value)
    if drawn is None:
        why = (
            f"not on the stream that seed {shown} gives: replaced without a call to {call}, "
            f"or drawn from more than {streams.FURTHEST_IN_WORDS} times"
        )
        return Reading({"seed": "replaced"}, "program", False, why)
    return Reading({"seed": shown, "drawn": drawn}, by(seeding), True, None, seeding.place)


def by(seeding: Seeding) -> SetBy:
    return "twinrun" if seeding.by == "twinrun" else "program"


# The hash seed


def apply_hash_seed(request: PinRequest) -> None:
    wanted = settings.hash_seed(request)
    if effective_hash_seed((wanted,)) is None:  # any fixed seed will do: sets are ordered alike in every run
        raise NotApplied(
            "a running interpreter cannot change its hash seed; "
            f"start the program with `twinrun run --pin={request.seed}`, or with PYTHONHASHSEED={wanted}"
        )


def read_hash_seed(request: PinRequest | None) -> Reading:
    wanted = None if request is None or not request.wants("hash-seed") else settings.hash_seed(request)
    found = effective_hash_seed(() if wanted is None else (wanted,))
    if found is None:
        return Reading("random", "default", False, "every process orders its sets of strings differently")
    ours = found == wanted and current().launched
    set_by: SetBy = "twinrun" if ours else "environment"
    return Reading(found, set_by, True)


# Threads of NumPy and of other libraries below the framework


def apply_openmp_threads(request: PinRequest) -> Undo:
    wanted = settings.openmp_threads(request)
    if openblas_threads() not in (None, wanted):
        raise NotApplied(
            f"NumPy was already imported with {openblas_threads()} threads; start the program with "
            f"`twinrun run --pin={request.seed}`, or with OMP_NUM_THREADS={wanted}"
        )
    return current().set_variables(settings.openmp_variables(request))


def read_openmp_threads(request: PinRequest | None) -> Reading:
    written = os.environ.get("OMP_NUM_THREADS")
    effective = openblas_threads()
    state = {"OMP_NUM_THREADS": written, "openblas": effective}
    if effective is None and written is None:
        return Reading(state, "default", False, "as many threads as the machine has processors")
    if written is None:
        return Reading(
            state, "default", False, f"{effective} here, because the machine has as many processors"
        )
    set_by: SetBy = "twinrun" if current().environment.get("OMP_NUM_THREADS") == written else "environment"
    if effective is not None and str(effective) != (os.environ.get("OPENBLAS_NUM_THREADS") or written):
        return Reading(state, set_by, False, "the variable was changed after NumPy had been imported")
    return Reading(state, set_by, True)


def openblas_threads() -> int | None:
    """As NumPy's own OpenBLAS says, where it is loaded and can be asked."""
    if "numpy" not in sys.modules:
        return None
    for library in _loaded("openblas"):
        try:
            handle = ctypes.CDLL(library)
        except OSError:
            continue
        for name in (
            "scipy_openblas_get_num_threads64_",
            "openblas_get_num_threads64_",
            "openblas_get_num_threads",
        ):
            if hasattr(handle, name):
                return int(getattr(handle, name)())
    return None


def _loaded(part: str) -> list[str]:
    try:
        maps = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []
    return sorted({line.split(None, 5)[5] for line in maps if part in line and len(line.split(None, 5)) == 6})


ACTIONS: dict[str, Actions] = {
    "hash-seed": Actions(read_hash_seed, apply_hash_seed),
    "python-random": Actions(read_python_random, apply_python_random),
    "numpy-random": Actions(read_numpy_random, apply_numpy_random),
    "openmp-threads": Actions(read_openmp_threads, apply_openmp_threads),
}
