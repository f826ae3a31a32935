"""Two frames of the same step: which tensors differ, in the order in which they should be blamed."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import asdict, replace

from twinrun.comparison.elements import Elements
from twinrun.recording.frame import EVIDENCE, PHASES, Frame

STEP_COUNT = "step count"  # stands for a tensor where one twin took steps that the other did not


_NEAR = 10_000  # ULPs; of more, the absolute difference says all there is to say


class Distance(Struct, frozen=True, kw_only=True):
    """How far two tensors are apart. None: not measured, or without meaning (ULPs of strings, NaN against a number)."""

    differing: float | None = None  # share of the elements
    differing_count: int | None = None
    size: int | None = None
    max_ulp: int | None = None
    max_abs: float | None = None
    first_index: tuple[int, ...] | None = None
    first_values: tuple[str, str] | None = None
    note: str | None = None
    elements: Elements | None = None  # which of them; not looked for everywhere

    def __post_init__(self) -> None:
        measured = (self.differing, self.differing_count, self.size)
        if None in measured and measured != (None, None, None):
            raise ValueError("differing, differing_count and size belong together")

    @property
    def near(self) -> int | None:
        """The distance in ULPs where that is a small number."""
        return self.max_ulp if self.max_ulp is not None and self.max_ulp <= _NEAR else None


class Difference(Distance, frozen=True):
    """A place where two twins diverge. `only_in` names the twin that alone has the tensor; `span` is more than one
    where only every so many steps are compared: the difference first appeared in one of the last `span` steps."""

    step: int
    phase: str
    tensor: str
    span: int = 1
    only_in: str | None = None
    worker: int = 0
    process: str = ""  # the child that it was seen in; empty for the program itself
    others: int = 0  # further tensors that differ at the same step

    @property
    def key(self) -> tuple[str, str]:
        return (self.phase, self.tensor)

    @property
    def judged(self) -> bool:
        return self.phase not in EVIDENCE

    @property
    def uneven(self) -> bool:
        """One twin has ended, and the one that this names has not."""
        return self.tensor == STEP_COUNT and self.only_in is not None

    def measured(self, found: Distance) -> Difference:
        return replace(self, **asdict(found))


def differences(a: Frame, b: Frame, names: tuple[str, str] = ("A", "B")) -> list[Difference]:
    """Every tensor that differs, first to blame first. Frames are aligned by phase and name, never by position. Tensors
    whose digests are of different kinds are not looked at: see `unlike`."""
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
        elif a.digest(entry) != b.digest(other) and a.layout.kind(entry) == b.layout.kind(other):
            found.append(Difference(step, phase, name, span))
    for entry in b.layout.by_rank:
        phase, name = b.layout.phases[entry], b.layout.names[entry]
        if (phase, name) not in a.layout.places:
            found.append(Difference(step, phase, name, span, only_in=names[1]))
    if not found and a.span != b.span:
        found.append(Difference(step, "weights", STEP_COUNT, span))
    found.sort(key=lambda difference: PHASES.index(difference.phase))
    return found


def unlike(a: Frame, b: Frame) -> list[Difference]:
    """Every tensor of which the digests are of different kinds, and say nothing: it may differ or not."""
    if a.layout.kinds == b.layout.kinds == "" or a.layout is b.layout or a.step != b.step:
        return []
    places, span = b.layout.places, max(a.span, b.span)
    keys = zip(a.layout.phases, a.layout.names, strict=True)
    pairs = ((entry, places.get(key), key) for entry, key in enumerate(keys))
    return [
        Difference(a.step, *key, span)
        for entry, other, key in pairs
        if other is not None and a.layout.kind(entry) != b.layout.kind(other)
    ]


def _out_of_line(a: Frame, b: Frame, names: tuple[str, str]) -> list[Difference]:
    """Frames of different steps are not compared tensor by tensor: what sets the twins apart is what one of them alone
    went through."""
    if a.is_end != b.is_end:
        on, name = (b, names[1]) if a.is_end else (a, names[0])
        return [Difference(on.step, "weights", STEP_COUNT, on.span, only_in=name)]
    early, name = (a, names[0]) if a.step < b.step else (b, names[1])
    entries = [(early.layout.phases[entry], early.layout.names[entry]) for entry in early.layout.by_rank]
    return [Difference(early.step, phase, tensor, early.span, only_in=name) for phase, tensor in entries]


def that_count(found: list[Difference], exact: frozenset[str] = frozenset()) -> list[Difference]:
    """Without evidence, unless it is of a phase that must be equal."""
    return [each for each in found if each.judged or each.phase in exact]


def first_to_blame(found: list[Difference], exact: frozenset[str] = frozenset()) -> Difference | None:
    """The first difference that counts, with the number of further ones that do. None when none does."""
    judged = that_count(found, exact)
    return replace(judged[0], others=len(judged) - 1) if judged else None
