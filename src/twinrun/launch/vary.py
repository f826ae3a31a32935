"""Variations: things changed between the twins on purpose that must not matter, so that what would only show on
another machine shows here. The first twin always runs as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from twinrun.errors import UsageError


@dataclass(frozen=True)
class Varied:
    """What one twin gets: environment variables, and settings that are installed inside it."""

    environment: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Variation:
    names: tuple[str, ...] = ()

    def for_twin(self, number: int) -> Varied:
        if not self.names:
            return Varied()
        environment: dict[str, str] = {}
        settings: dict[str, str] = {}
        for name in self.names:
            value, in_environment = KNOWN[name].of(number)
            settings[name] = value
            environment.update(in_environment)
        return Varied(environment, settings)


@dataclass(frozen=True)
class Kind:
    """One thing that can be varied. `of(n)` gives its value for the n-th twin, and the environment that makes it so."""

    line: str
    of: Callable[[int], tuple[str, dict[str, str]]]


def _hashseed(number: int) -> tuple[str, dict[str, str]]:
    seed = str(number + 1)
    return seed, {"PYTHONHASHSEED": seed}


def _threads(number: int) -> tuple[str, dict[str, str]]:
    count = str((2, 1, 3, 4)[number % 4])
    return count, {"TF_NUM_INTRAOP_THREADS": count, "OMP_NUM_THREADS": count}


def _timezone(number: int) -> tuple[str, dict[str, str]]:
    zone = ("UTC", "Asia/Tokyo", "America/Los_Angeles")[number % 3]
    return zone, {"TZ": zone}


def _inside(first: str, other: str) -> Callable[[int], tuple[str, dict[str, str]]]:
    return lambda number: (first if number == 0 else other, {})


KNOWN: dict[str, Kind] = {
    "hashseed": Kind("PYTHONHASHSEED: the order of sets and the value of hash()", _hashseed),
    "fileorder": Kind("the order in which directories are listed", _inside("as is", "reversed")),
    "threads": Kind("TensorFlow's intra-op threads and OMP_NUM_THREADS", _threads),
    "load": Kind("another process keeping a core busy", _inside("none", "busy")),
    "timezone": Kind("the time zone", _timezone),
    "clock": Kind("the time and date that the program's own lines read", _inside("as is", "moved")),
}
TIME_OF_DAY = (
    "time.time",
    "time.time_ns",
    "tf.timestamp",
)  # calls that a moved clock moves, as the ledger has them

NO_VARIATION = Variation()


def parse_variation(text: str | None) -> Variation:
    if not text:
        return NO_VARIATION
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if names == ("all",):
        names = tuple(KNOWN)
    for name in names:
        if name not in KNOWN:
            raise UsageError(
                f"nothing called {name!r} can be varied", hint=f"choose from {', '.join(KNOWN)}, all"
            )
    return Variation(names)


def install(settings: dict[str, str]) -> None:
    """Inside a twin, before the program starts."""
    if settings.get("fileorder") == "reversed":
        from twinrun.sources.file_listing import reverse_listings

        reverse_listings()
    if settings.get("load") == "busy":
        from twinrun.sources.load import keep_a_core_busy

        keep_a_core_busy()
