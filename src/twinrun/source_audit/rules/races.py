"""Random state that several threads draw from at once: the order in which they get to it varies, seeded or not."""

from __future__ import annotations

from collections.abc import Iterable

from twinrun.source_audit.marks import Origin
from twinrun.source_audit.outgoing_call import Call
from twinrun.source_audit.state import Draw


def explain(origin: Origin, line: str) -> None:
    """Mark an origin as a race that no seed fixes, with a line of evidence."""
    origin.raced = True
    if line not in origin.evidence:
        origin.evidence.append(line)


def race_at_draw(call: Call, draws: list[Draw], line: str) -> Origin:
    """A race of the program's own workers (TW205), reported where the first of them draws."""
    race = call.state.origin_at("TW205", draws[0].site, draws[0].what)
    explain(race, line)
    cover(race, draws)
    return race


def cover(race: Origin, draws: Iterable[Draw]) -> None:
    """Once the race is fixed, nothing is left to report about these draws."""
    for draw in draws:
        for origin in draw.origins:
            origin.covered_by = race
