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
                for event in group:
                    yield self._suspect(message, event, bonus)

    def _suspect(self, message: str, event: Event, bonus: int) -> Suspect:
        return self.suspect(
            [event],
            f"{message}: {event.call}",
            weight=self.weight.plus(bonus),
            notes=(f"{event.call} at {event.place}",),
            experiment=f"with {event.call} frozen there",
            advice=self.advice,
            sequential=self.is_sequential(event),
        )
