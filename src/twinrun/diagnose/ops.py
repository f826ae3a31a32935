"""Two op traces of the same step: the first op whose inputs match and whose outputs do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Ops whose inputs are not all tensors: what they give depends on a state that no input shows.
_STATEFUL = (
    "Iterator",
    "ReadVariable",
    "Random",
    "Multinomial",
    "Truncated",
    "Stateful",
    "PyFunc",
    "EagerPyFunc",
    "Optional",
    "Assign",
    "Resource",
    "NonDeterministic",
)


@dataclass(frozen=True)
class Culprit:
    op: str
    file: str | None
    line: int | None
    layer: str | None
    forward: str | None
    gradient: bool


def first_culprit(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> Culprit | None:
    for left, right in zip(a, b, strict=False):
        if left["op"] != right["op"]:
            return None  # the twins went different ways: no op can be blamed by position
        if left["outputs"] == right["outputs"]:
            continue
        stateful = left.get("stateful") or left["op"].startswith(_STATEFUL)
        hidden = stateful or None in left["inputs"]
        if hidden or left["inputs"] != right["inputs"]:
            return None  # what came in differed already, or may have: the cause lies before this op
        return Culprit(
            left["op"], left["file"], left["line"], left["layer"], left.get("forward"), left["gradient"]
        )
    return None
