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
from twinrun.protocol import PinRequest, SetBy, Undo, derive
from twinrun.twin.callers import user_site


@dataclass(frozen=True)
class Seeding:
    """One call that seeded a stream. `value` None: from the operating system's entropy."""

    value: Any
    by: SetBy  # twinrun or program
    place: str | None = None
    restored: bool = False  # a saved state was put in place, rather than a seed given


_RESTORED = ("seedings", "applied", "refused", "turns", "replaced")


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
    replaced: dict[str, str] = field(
        default_factory=dict
    )  # the program's last seed of a control, where it is replaced
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
        ours = self.is_acting or (control in self.replaced and not restored)
        place = None if self.is_acting else user_place()
        self.seedings[control] = Seeding(value, "twinrun" if ours else "program", place, restored)

    def reseeded(self, control: str, value: Any, *, stream: str = "", below: int = 2**32) -> Any:
        """What to seed with in place of the program's own seed: another one that depends on it and on the request, where
        that asks for it. Whatever the control gives out by turns starts over, as the stream itself does. Fresh entropy
        is the program's own decision."""
        request = self.request
        if self.is_acting or request is None or not request.reseed or not request.wants(control):
            return value
        self.replaced.pop(control, None)
        if value is None:
            return value
        self.replaced[control] = repr(value)
        for key in [key for key in self.turns if key.startswith(f"{control}\n")]:
            del self.turns[key]
        return derive(
            request.seed_of(stream or control), f"seed of the program\n{control}\n{value!r}", below=below
        )

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
        self.replaced.clear()

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
