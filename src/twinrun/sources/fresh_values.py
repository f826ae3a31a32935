"""The base class of sources that give a new value in every run and take no seed: entropy, names, the clock, generators
made without a seed."""

from __future__ import annotations

from collections.abc import Iterator

from twinrun.protocol import Event, Evidence, Source, Suspect, differs, one
from twinrun.protocol.evidence import in_library, is_direct
from twinrun.sources.stream import LIBRARY


class FreshValues(Source):
    """`messages` has, for each action that is suspected, what it means when its values differ."""

    messages: tuple[tuple[str, str], ...] = ()
    advice: str = ""
    makes_seeds = True

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        for action, message in self.messages:
            events = [one(pair) for pair in evidence.of(self.name, action) if differs(pair)]
            own = [event for event in events if is_direct(event)]
            by_libraries = [event for event in events if in_library(event)]
            for group, bonus in ((own, 0), (by_libraries, LIBRARY)):
                if group:
                    yield self._suspect(message, group, bonus)

    def _suspect(self, message: str, events: list[Event], bonus: int) -> Suspect:
        return self.suspect(
            events,
            f"{message}: {events[0].call}",
            weight=self.weight.plus(bonus),
            notes=tuple(f"{event.call} at {event.place}" for event in events[:4]),
            experiment=f"with {events[0].call} frozen there",
            advice=self.advice,
            sequential=any(self.is_sequential(event) for event in events),
            narrows=True,
        )
