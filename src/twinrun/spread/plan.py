"""Which runs a spread is made of. Every source of variation has a group of runs; a run is known by its group and its
number, and what it is pinned to follows from both. All groups but that of the implementation start with the same run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from msgspec import structs

from twinrun.errors import UsageError
from twinrun.launch.program import Program
from twinrun.protocol import Pin, PinRequest
from twinrun.protocol.pin import LARGEST_SEED
from twinrun.protocol.registry import controls, streams

ALL = "seed"  # every stream at once
IMPLEMENTATION = "implementation"  # nothing pinned but the seeds, and these always the same
REPEAT = "repeat"  # the first run again
DATA = "data"
# What programs order, split and augment their data with.
_DATA = ("pipeline", "numpy-random", "python-random", "library-generators")
_IN_WORDS = {
    DATA: f"every stream that data may be ordered, split or made by: {', '.join(_DATA)}",
    IMPLEMENTATION: "what is not the seed's: threads, kernels, completion order",
}


def source_names() -> dict[str, str]:
    """What `--sources` takes, and what each of them moves."""
    return {**_IN_WORDS, **streams()}


def parse_sources(text: str | None) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in (text or "").split(",") if part.strip()))
    for name in names:
        if name not in source_names():
            raise UsageError.unknown("source", name, source_names())
    return names


@dataclass(frozen=True)
class RunKey:
    source: str
    number: int


@dataclass(frozen=True)
class SpreadOptions:
    program: Program
    seeds: int = 10
    sources: tuple[str, ...] = ()
    implementation_only: bool = False
    request: PinRequest = field(default_factory=PinRequest)
    seed_option: str | None = None  # of the program's own
    steps: int | None = None
    timeout: float | None = None
    jobs: int | None = None  # None: as many as there are processors for
    one_in: int = 100

    @property
    def groups(self) -> tuple[str, ...]:
        return (IMPLEMENTATION,) if self.implementation_only else (ALL, *self.sources)

    def seed(self, number: int) -> int:
        return (self.request.seed + number) % (LARGEST_SEED + 1)

    def program_of(self, key: RunKey) -> Program:
        """The program with its own seed, where it takes one. A source that is varied alone leaves that as it is."""
        seed = self.seed(key.number if key.source == ALL else 0)
        return replace(self.program, arguments=(*self.program.arguments, *self.seed_words(str(seed))))

    def seed_words(self, seed: str) -> tuple[str, ...]:
        """The program's own option with this seed; none where it has no such option."""
        if self.seed_option is None:
            return ()
        joined = self.seed_option.endswith("=")
        return (self.seed_option + seed,) if joined else (self.seed_option, seed)

    def pin_of(self, key: RunKey) -> Pin:
        request = structs.replace(self.request, reseed=True)
        if key.source == ALL:
            return Pin(structs.replace(request, seed=self.seed(key.number)))
        if key.source == REPEAT:
            return Pin(request)
        if key.source == IMPLEMENTATION:
            seeds = tuple(each.name for each in controls() if each.streams and request.wants(each.name))
            return Pin(structs.replace(request, only=seeds, leave_out=()))
        moved = _DATA if key.source == DATA else (key.source,)
        known = streams()
        seed = self.seed(key.number)
        return Pin(structs.replace(request, streams=tuple((name, seed) for name in moved if name in known)))

    def same_as(self, key: RunKey) -> RunKey:
        """A source varied alone, and not varied yet, is the first run of all."""
        alone = key.number == 0 and key.source not in (IMPLEMENTATION, REPEAT)
        return RunKey(ALL, 0) if alone else key


LOOKS = 3  # runs of a source that must all be equal before it is taken for one that the program does not use


def first_looks(options: SpreadOptions) -> list[RunKey]:
    """What is run before the rest: the first run again, which tells whether it repeats, and a few of every source, which
    tell whether the program uses it at all."""
    if options.implementation_only:
        return []
    few = min(LOOKS, options.seeds)
    looks = [RunKey(source, number) for source in options.sources for number in range(few)]
    return [RunKey(REPEAT, 0), *looks]


def the_rest(options: SpreadOptions, unused: Iterable[str]) -> list[RunKey]:
    """Order the runs so that all sources have about as many, wherever it is broken off."""
    left_out = set(unused)
    groups = [source for source in options.groups if source not in left_out]
    return [RunKey(source, number) for number in range(options.seeds) for source in groups]
