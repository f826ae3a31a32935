"""The reason given where nothing that counts was observed: no step, no evaluation, no probe."""

from __future__ import annotations

from collections.abc import Iterable

from twinrun.protocol import Facts
from twinrun.result import Reason

_PROBE = "twinrun.probe(name, value) reports what a program trains by other means"


def no_step(twins: Iterable[Facts] = (), *more: str) -> Reason:
    """`more`: sentences to add to the hint."""
    why = next((facts.no_step for facts in twins if facts.no_step is not None), None)
    hint = "; ".join((*((why,) if why else ()), _PROBE, *more))
    return Reason("no-step", f"no training step was observed: {hint}")
