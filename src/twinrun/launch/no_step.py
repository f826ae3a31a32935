"""The reason given where nothing that counts was observed: no step, no evaluation, no probe."""

from __future__ import annotations

from collections.abc import Iterable

from twinrun.protocol import Facts
from twinrun.result import Reason

_PROBE = "twinrun.probe(name, value) reports what a program trains by other means"


def no_step(twins: Iterable[Facts] = ()) -> Reason:
    """Why no step was seen, with a hint that fits what the twins imported. More can be added to the message, after a semicolon."""
    why = next((f"{facts.no_step}; " for facts in twins if facts.no_step is not None), "")
    return Reason("no-step", f"no training step was observed: {why}{_PROBE}")


def no_step_of(processes: list[str]) -> Reason:
    """Why what was observed is not all, though the rest agrees."""
    return Reason("no-step", f"no training step of {', '.join(processes)} was observed: {_PROBE}")
