"""Two frames of the same step: which tensors differ, in the order in which they should be blamed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from twinrun.comparison.tensors import Distance
from twinrun.recording.frame import EVIDENCE, PHASES, Frame

STEP_COUNT = "step count"  # stands for a tensor where one twin took steps that the other did not


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

    @property
    def uneven(self) -> bool:
        """One twin has come to its end, and the one that this names has not."""
        return self.tensor == STEP_COUNT and self.only_in is not None

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
    if a.is_end != b.is_end or a.step != b.step:
        return _out_of_line(a, b, names)
    found: list[Difference] = []
    step, span = a.step, max(a.span, b.span)
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
    if not found and a.span != b.span:
        found.append(Difference(step, "weights", STEP_COUNT, span))
    found.sort(key=lambda difference: PHASES.index(difference.phase))
    return found


def _out_of_line(a: Frame, b: Frame, names: tuple[str, str]) -> list[Difference]:
    """Frames of different moments are not held against each other tensor by tensor: what one twin alone went through
    is what sets them apart."""
    if a.is_end != b.is_end:
        on, name = (b, names[1]) if a.is_end else (a, names[0])
        return [Difference(on.step, "weights", STEP_COUNT, on.span, only_in=name)]
    early, name = (a, names[0]) if a.step < b.step else (b, names[1])
    entries = [(early.layout.phases[entry], early.layout.names[entry]) for entry in early.layout.by_rank]
    return [Difference(early.step, phase, tensor, early.span, only_in=name) for phase, tensor in entries]


def first_to_blame(found: list[Difference]) -> Difference | None:
    """The first difference that counts, with the number of further ones that do. None when all is mere evidence."""
    judged = [difference for difference in found if difference.judged]
    return replace(judged[0], others=len(judged) - 1) if judged else None
