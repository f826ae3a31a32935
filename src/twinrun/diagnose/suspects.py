"""From evidence to suspects: what the sources suspect, best supported first. Whether a suspect is the cause is for an
experiment to say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from twinrun.protocol import Evidence, Stress, Suspect, one
from twinrun.protocol.evidence import MOST_OPS
from twinrun.protocol.registry import frameworks, sources

LIKELY = 7  # from this rank on a suspect is mostly guilty
WORTH_A_TRIAL = 3  # below this rank it is hardly ever
_SEED_BONUS = 10  # a seed was set to something that differs: its value came from a source like this


def suspects(evidence: Evidence) -> list[Suspect]:
    seeds_differ = bool(evidence.differing_seeds())
    of_frameworks = {source.name for framework in frameworks() for source in framework.sources}
    found = []
    # Of equal rank, what a framework draws is tried before what Python itself does.
    for source in sorted(sources(), key=lambda source: source.name not in of_frameworks):
        bonus = _SEED_BONUS if seeds_differ and source.makes_seeds else 0
        for suspect in source.suspects(evidence):
            weight = suspect.weight.plus(bonus)
            found.append(replace(suspect, rank=weight.at(evidence.phase), ahead=weight.ahead(evidence.phase)))
    return sorted(found, key=lambda suspect: -suspect.rank)


def families(suspects: Iterable[Suspect]) -> list[list[Suspect]]:
    """Group the suspects that are left out together, the best supported first in each group."""
    found: dict[tuple[str, str, str], list[Suspect]] = {}
    for suspect in suspects:
        found.setdefault(suspect.family, []).append(suspect)
    return [sorted(family, key=lambda suspect: -suspect.likelihood) for family in found.values()]


def may_race(evidence: Evidence) -> bool:
    """Whether a source knows of something that runs in parallel: then twins may repeat by luck."""
    events = [one(pair) for pair in evidence.pairs]
    looks = (source.second_look(events) for source in sources())
    return any(isinstance(look.intervention, Stress) for look in looks if look is not None)


def blame_device(evidence: Evidence) -> Suspect | None:
    """What to blame where the twins differ in their devices alone."""
    blamed = (source.blame_device(evidence) for source in sources())
    return next((suspect for suspect in blamed if suspect is not None), None)


def cut_short(evidence: Evidence) -> list[str]:
    """A note where more ops ran than were traced: one that was not cannot be blamed."""
    cut = any(trace.cut for trace in evidence.traces or ())
    return [f"only the first {MOST_OPS:,} ops were compared between the twins"] if cut else []


def blame_op(evidence: Evidence, *, pipeline: bool) -> Suspect | None:
    """The op to blame, of the input pipeline or of the step, where ops were traced."""
    if evidence.traces is None:
        return None
    blamed = (source.blame_op(evidence.traces, evidence, pipeline=pipeline) for source in sources())
    return next((suspect for suspect in blamed if suspect is not None), None)
