"""What is known of one step: a digest for each tensor, under the phase and the name it was seen by."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import xxhash

# In the order in which an engineer would look for the first difference within one step.
PHASES = (
    "init",
    "seed",
    "draw",
    "batch",
    "probe",
    "forward",
    "loss",
    "gradient",
    "weights",
    "metric",
    "final",
)
# Seen and kept as evidence, not judged: a stream that differs and never reaches training is no divergence, and one
# that does reach it shows in the phases that are judged.
EVIDENCE = frozenset({"seed", "draw"})
# What a program delivers without a step: results of an evaluation, and what the user probes.
RESULTS = frozenset({"probe", "forward", "metric"})
# What a step begins with: initial weights, seeds and batches, which are the same on every device.
GIVEN = frozenset({"init", "seed", "draw", "batch"})
# Whose single numbers are kept as values: contracts on metrics are judged by them.
MEASURED = frozenset({"loss", "metric", "probe"})
# How a digest was taken: by `digest.digest_array`, or by `sum_digest` where the tensor lies. They cannot be compared.
HOST, DEVICE = "h", "d"
# Stands for the tensors of a phase where only its roll-up is known.
ROLLED_UP = "(rolled up: record with --detail)"
MOST_LAYOUTS = 1024  # that are cached: a program that makes a variable at every step has very many
_RANK = {phase: rank for rank, phase in enumerate(PHASES)}


def joined_kinds(kinds: Iterable[str]) -> str:
    """The kinds of digests, as a Layout has them."""
    joined = "".join(kinds)
    return joined if DEVICE in joined else ""


@dataclass(frozen=True)
class Layout:
    """The phases and names of a frame. A training loop has a handful of layouts and very many frames."""

    phases: tuple[str, ...]
    names: tuple[str, ...]
    kinds: str = ""  # of digests, a letter for each; none where all were taken on the host

    @property
    def is_valid(self) -> bool:
        """Whether it fits together, where somebody else may have made it."""
        kinds = (
            isinstance(self.kinds, str)
            and len(self.kinds) in (0, len(self))
            and set(self.kinds) <= {HOST, DEVICE}
        )
        return len(self.phases) == len(self.names) and kinds and set(self.phases) <= set(PHASES)

    def kind(self, entry: int) -> str:
        return self.kinds[entry] if self.kinds else HOST

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def phase_order(self) -> tuple[str, ...]:
        return tuple(sorted(set(self.phases), key=lambda phase: _RANK[phase]))

    @cached_property
    def has_results(self) -> bool:
        return not RESULTS.isdisjoint(self.phases)

    @cached_property
    def places(self) -> dict[tuple[str, str], int]:
        return {key: index for index, key in enumerate(zip(self.phases, self.names, strict=True))}

    @cached_property
    def by_rank(self) -> tuple[int, ...]:
        """Entry numbers in phase order; within a phase, in the order they were seen."""
        return tuple(sorted(range(len(self)), key=lambda index: _RANK[self.phases[index]]))

    @cached_property
    def parts(self) -> tuple[tuple[str, int, tuple[int, ...]], ...]:
        """Each phase with a digest of its names, and its entries sorted by name: the order they were seen in is not compared.
        The kinds of digests are part of it in those phases alone that have some of a device: where all of a phase are of the
        host, it can be compared whatever the others are."""
        found = []
        for phase in self.phase_order:
            entries = [entry for entry, other in enumerate(self.phases) if other == phase]
            entries.sort(key=self.names.__getitem__)
            names = "\0".join(self.names[entry] for entry in entries).encode("utf-8", "surrogatepass")
            kinds = [self.kind(entry) for entry in entries]
            if DEVICE in kinds:
                names += "\0".join(["", *kinds]).encode()
            found.append((phase, xxhash.xxh3_64_intdigest(names), tuple(entries)))
        return tuple(found)


@dataclass(frozen=True)
class Frame:
    """One step as one twin saw it. `span` is the number of optimizer updates since the frame before."""

    step: int
    span: int
    layout: Layout
    digests: bytes  # 8 bytes for each entry of the layout, little-endian
    values: tuple[tuple[int, float], ...] = ()  # (entry, value) of scalars worth keeping
    seconds: float = 0.0

    @property
    def is_end(self) -> bool:
        """The state in which a program ended, after its last step."""
        return "final" in self.layout.phase_order

    @property
    def is_observation(self) -> bool:
        """Something was trained or evaluated, or probed by the user: without any such frame a comparison has judged
        nothing. Weights before the first step, and data that nothing was trained on, are not enough."""
        return self.span > 0 or self.layout.has_results

    def digest(self, entry: int) -> bytes:
        return self.digests[8 * entry : 8 * entry + 8]

    def rollup(self) -> tuple[tuple[str, bytes], ...]:
        """One digest for each phase, for recordings that no longer keep one for each tensor."""
        digests = struct.unpack(f"<{len(self.digests) // 8}Q", self.digests)
        return tuple(
            (phase, xxhash.xxh3_64_digest(pack([digests[entry] for entry in entries]), seed))
            for phase, seed, entries in self.layout.parts
        )

    def rolled_up(self, rollup: Mapping[str, bytes] | None = None) -> Frame:
        """The same with one entry for each phase in place of its tensors. `rollup`, where the tensors are not known."""
        known = dict(self.rollup()) if rollup is None else rollup
        layout = Layout(tuple(known), (ROLLED_UP,) * len(known))
        return Frame(self.step, self.span, layout, b"".join(known.values()), seconds=self.seconds)

    @property
    def key(self) -> tuple[int, int, Layout, bytes]:
        """Two frames with equal keys saw the same bits under the same names at the same step."""
        return (self.step, self.span, self.layout, self.digests)


def pack(digests: list[int]) -> bytes:
    return struct.pack(f"<{len(digests)}Q", *digests)


def pack_values(values: tuple[tuple[int, float], ...]) -> bytes:
    return b"".join(struct.pack("<Id", entry, value) for entry, value in values)


def unpack_values(blob: bytes) -> tuple[tuple[int, float], ...]:
    return tuple(struct.iter_unpack("<Id", blob))
