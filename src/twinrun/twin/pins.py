"""What this process knows about its own pinning: the request in force, who seeded what and where, what could not be
applied, and what was noticed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from twinrun.findings.finding import Finding
from twinrun.protocol import PinRequest, SetBy, Undo
from twinrun.twin.callers import user_site


@dataclass(frozen=True)
class Seeding:
    """One call that seeded a stream. `value` None: from the operating system's entropy."""

    value: Any
    by: SetBy  # twinrun or program
    place: str | None = None
    restored: bool = False  # a saved state was put in place, rather than a seed given


_RESTORED = ("seedings", "applied", "refused", "turns")


@dataclass
class Pins:
    request: PinRequest | None = None
    launched: bool = False  # pinned from outside, before the program's first line
    watching: bool = False  # seedings are being watched
    seedings: dict[str, Seeding] = field(default_factory=dict)
    applied: dict[str, Any] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)  # variables that Twinrun set
    findings: list[Finding] = field(default_factory=list)
    undo: list[tuple[str, Undo]] = field(default_factory=list)
    turns: dict[str, int] = field(default_factory=dict)
    overridden: list[str] = field(default_factory=list)  # places that asked for deterministic=False
    _ours: threading.local = field(default_factory=threading.local)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Seedings made meanwhile, in this thread, are Twinrun's own."""
        before = self.is_acting
        self._ours.acting = True
        try:
            yield
        finally:
            self._ours.acting = before

    @property
    def is_acting(self) -> bool:
        return bool(getattr(self._ours, "acting", False))

    def seeded(self, control: str, value: Any, *, restored: bool = False) -> None:
        by: SetBy = "twinrun" if self.is_acting else "program"
        self.seedings[control] = Seeding(value, by, None if self.is_acting else user_place(), restored)

    def pins(self, control: str) -> bool:
        """Is the control pinned by us, and not since seeded by the program?"""
        if self.request is None or not self.request.wants(control):
            return False
        seeding = self.seedings.get(control)
        return seeding is None or seeding.by == "twinrun"

    def turn(self, key: str) -> int:
        """How many times this key has been asked for before."""
        with self._lock:
            turn = self.turns.get(key, 0)
            self.turns[key] = turn + 1
            return turn

    def notice(self, finding: Finding) -> None:
        if finding not in self.findings:
            self.findings.append(finding)

    def begin(self, request: PinRequest | None, *, launched: bool) -> None:
        """A new request takes over from the one before; what was watched so far stays known."""
        self.request = request
        self.launched = self.launched or launched
        self.applied.clear()
        self.refused.clear()
        self.turns.clear()

    def snapshot(self) -> Pins:
        """What is in force now, to come back to."""
        copies: dict[str, Any] = {name: dict(getattr(self, name)) for name in _RESTORED}
        return replace(self, undo=list(self.undo), **copies)

    def restore(self, before: Pins) -> None:
        self.request = before.request
        for name in _RESTORED:
            kept: dict[str, Any] = getattr(self, name)
            kept.clear()
            kept.update(getattr(before, name))
        self.undo[:] = before.undo

    def set_variables(self, variables: Mapping[str, str]) -> Undo:
        """Set them for this process and its children; the undo puts back what was there."""
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        self.environment.update(variables)

        def undo() -> None:
            for name, value in before.items():
                self.environment.pop(name, None)
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

        return undo


def user_place() -> str | None:
    """The line of the user's own code that led here, as file:line."""
    site = user_site(2)
    return None if site is None else f"{site[0]}:{site[1]}"
