"""Two frames of the same step: which tensors differ, in the order in which they should be blamed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from twinrun.compare.tensors import Distance
from twinrun.recording.frame import EVIDENCE, PHASES, Frame


@dataclass(frozen=True)
class Difference:
    """A place where two twins part. `only_in` names the twin that alone has the tensor; `span` is more than one
    where several updates lie between two looks, and the difference arose in one of them."""

    step: int
    phase: str
    tensor: str
    span: int = 1
    only_in: str | None = None
    worker: int = 0
    distance: Distance | None = None
    others: int = 0  # further tensors that differ at the same step

    @property
    def judged(self) -> bool:
        return self.phase not in EVIDENCE

    def measured(self, found: Distance | None) -> Difference:
        return replace(self, distance=found)

    def as_json(self) -> dict[str, Any]:
        d = self.distance
        return {
            "step": self.step,
            "phase": self.phase,
            "tensor": self.tensor,
            "worker": self.worker,
            "max_ulp": d.max_ulp if d else None,
            "max_abs": d.max_abs if d else None,
            "differing": d.differing if d else None,
            "differing_count": d.count if d else None,
            "size": d.size if d else None,
            "first_index": list(d.first_index) if d and d.first_index is not None else None,
            "first_values": list(d.first_values) if d and d.first_values else None,
            "note": d.note if d else None,
            "span": self.span,
            "only_in": self.only_in,
            "others": self.others,
        }


def differences(a: Frame, b: Frame, names: tuple[str, str] = ("A", "B")) -> list[Difference]:
    """Every tensor that differs, first to blame first. Frames are aligned by phase and name, never by position."""
    if a.key == b.key:
        return []
    found: list[Difference] = []
    step, span = min(a.step, b.step), max(a.span, b.span)
    places = b.layout.places
    for entry in a.layout.by_rank:
        phase, name = a.layout.phases[entry], a.layout.names[entry]
        other = places.get((phase, name))
        if other is None:
            found.append(Difference(step, phase, name, span, only_in=names[0]))
        elif a.digest(entry) != b.digest(other):
            found.append(Difference(step, phase, name, span))
    for entry in b.layout.by_rank:
        phase, name = b.layout.phases[entry], b.layout.names[entry]
        if (phase, name) not in a.layout.places:
            found.append(Difference(step, phase, name, span, only_in=names[1]))
    if not found and (a.step, a.span) != (b.step, b.span):
        found.append(Difference(step, "weights", "step count", span))
    found.sort(key=lambda difference: PHASES.index(difference.phase))
    return found


def first_to_blame(found: list[Difference]) -> Difference | None:
    """The first difference that counts, with the number of further ones that do. None when all is mere evidence."""
    judged = [difference for difference in found if difference.judged]
    return replace(judged[0], others=len(judged) - 1) if judged else None
