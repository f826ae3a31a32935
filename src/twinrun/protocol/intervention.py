"""Interventions: everything that Twinrun can change about a run, as values.

`--freeze`, `--pin`, `--vary`, `--devices` and `--stress` parse to these, experiments are made of them, and the command that
repeats an experiment is printed from them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from twinrun.errors import UsageError
from twinrun.protocol.event import Event, relative
from twinrun.protocol.pin import PinRequest

ANYWHERE = "*"


class Freeze(msgspec.Struct, frozen=True, tag="freeze"):
    """The same values in every run, for one source: at one line, in one file (no line), or anywhere."""

    source: str
    action: str = ""  # empty: every action of the source
    file: str = ANYWHERE
    line: int | None = None

    @staticmethod
    def at(event: Event, action: str | None = None) -> Freeze:
        """Freeze what this event did, or another action at the same line."""
        return Freeze(event.source, event.action if action is None else action, event.file, event.line)

    def covers(self, source: str, action: str) -> bool:
        return self.source == source and self.action in ("", action)

    def holds_at(self, file: str, line: int) -> bool:
        return self.file in (ANYWHERE, file) and self.line in (None, line)

    def __str__(self) -> str:
        """The text to write after `--freeze`."""
        name = f"{self.source}.{self.action}" if self.action else self.source
        if self.file == ANYWHERE:
            return name
        place = relative(self.file)
        return f"{name}:{place}" if self.line is None else f"{name}:{place}:{self.line}"

    @staticmethod
    def parse(text: str) -> Freeze:
        name, _, place = text.partition(":")
        source, _, action = name.partition(".")
        if not source:
            raise UsageError(f"invalid value for --freeze: {text!r}", hint=_FREEZE_FORMS)
        if not place:
            return Freeze(source, action)
        file, _, line = place.rpartition(":")
        if not file:  # a file without a line
            file, line = place, ""
        if line and not line.isdigit():
            raise UsageError(f"invalid line in --freeze: {text!r}", hint=_FREEZE_FORMS)
        return Freeze(source, action, str(Path(file).resolve()), int(line) if line else None)


_FREEZE_FORMS = "write SOURCE, SOURCE:FILE:LINE or SOURCE.ACTION:FILE:LINE: numpy-random:train.py:12, say"


class Vary(msgspec.Struct, frozen=True, tag="vary"):
    """One thing changed between the twins that must not matter. The first twin always runs as it is."""

    name: str


class Devices(msgspec.Struct, frozen=True, tag="devices"):
    """Each twin on a device of its own: the first twin on the first of these."""

    names: tuple[str, ...]


class Stress(msgspec.Struct, frozen=True, tag="stress"):
    """CPU affinity shuffled in every twin but the first, so that races show."""


class Pin(msgspec.Struct, frozen=True, tag="pin"):
    """Every control that the request asks for, in every twin."""

    request: PinRequest


Intervention = Freeze | Vary | Devices | Stress | Pin
Interventions = tuple[Intervention, ...]
Kind = TypeVar("Kind", Freeze, Vary, Devices, Stress, Pin)


def of_kind(kind: type[Kind], interventions: Iterable[Intervention]) -> tuple[Kind, ...]:
    return tuple(each for each in interventions if isinstance(each, kind))


class Intervened:
    """Mixed into what has `interventions`: the same by kind."""

    __slots__ = ()
    interventions: Interventions

    @property
    def pin(self) -> PinRequest | None:
        return next((each.request for each in of_kind(Pin, self.interventions)), None)

    @property
    def freezes(self) -> tuple[Freeze, ...]:
        return of_kind(Freeze, self.interventions)

    @property
    def variations(self) -> tuple[str, ...]:
        return tuple(vary.name for vary in of_kind(Vary, self.interventions))

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of each twin; empty where the program chooses."""
        return next((each.names for each in of_kind(Devices, self.interventions)), ())

    @property
    def stressed(self) -> bool:
        return bool(of_kind(Stress, self.interventions))


def without(kind: type[Intervention], interventions: Iterable[Intervention]) -> Interventions:
    return tuple(each for each in interventions if not isinstance(each, kind))


def as_options(interventions: Interventions) -> list[str]:
    """The command-line options that ask for these interventions."""
    words: list[str] = []
    for freeze in of_kind(Freeze, interventions):
        words += ["--freeze", str(freeze)]
    words += [f"--pin={pin.request}" for pin in of_kind(Pin, interventions)]
    if names := [vary.name for vary in of_kind(Vary, interventions)]:
        words += ["--vary", ",".join(names)]
    words += [f"--devices={','.join(each.names)}" for each in of_kind(Devices, interventions)]
    if of_kind(Stress, interventions):
        words.append("--stress")
    return words
