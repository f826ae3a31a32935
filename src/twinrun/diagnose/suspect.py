"""A candidate: a possible cause, with the experiment that would show it to be one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

Site = tuple[str, str, int | None]  # kind, file, line


@dataclass(frozen=True)
class Candidate:
    code: str
    kind: str
    message: str
    sites: tuple[Site, ...] = ()  # held still by the experiment, first to blame first
    file: str | None = None
    line: int | None = None
    rank: int = 0
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)  # for the experiment, beside the sites
    races: bool = False  # shows only sometimes
    shown: str = ""  # what the experiment does, in words
    bonus: int = 0  # added to the rank of its kind: what is known of this one beside its kind
    advice: str = ""  # what to write instead, where neither the catalogue nor the source says it

    @property
    def holdable(self) -> bool:
        """Whether there is an experiment at all. Without one it can be a suspect, and never more."""
        return bool(self.sites or self.settings)

    def at(self, site: Site) -> Candidate:
        return replace(self, sites=(site,), file=site[1], line=site[2])

    def key(self) -> tuple[Any, ...]:
        return (self.kind, self.sites, tuple(sorted(self.settings)))


def combined(candidates: list[Candidate]) -> dict[str, Any]:
    """The settings of an experiment that holds all of these still."""
    settings: dict[str, Any] = {
        "steady": [list(site) for c in candidates for site in c.sites],
        "environment": {},
    }
    for candidate in candidates:
        for name, value in candidate.settings.items():
            if name == "environment":
                settings["environment"] = {**settings["environment"], **value}
            else:
                settings[name] = value
    return settings
