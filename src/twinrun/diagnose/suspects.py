"""From evidence to candidates: which sources could have made what differed differ, best supported first.

A stream that gave the same in both twins is no candidate, however unseeded; one that differed is a candidate and no
more: whether it reaches training is for the experiment to say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from twinrun.diagnose import generators, outside, stages, streams, workers
from twinrun.diagnose.evidence import Evidence
from twinrun.diagnose.source import Source
from twinrun.diagnose.suspect import Candidate

# How likely each kind is, by the phase where the twins part. What is not named ranks lowest.
_RANKS: dict[str, dict[str, int]] = {
    "init": {"keras-seed": 10, "tf-random": 9, "numpy": 8, "python-random": 8, "generator": 8, "file": 6, "hash": 5, "entropy": 4, "name": 4, "listing": 4, "completion": 4, "date": 2, "clock": 2, "addresses": 2},
    "batch": {"loader": 12, "order": 12, "parallel": 11, "completion": 11, "shuffle": 10, "file": 10, "generator": 9, "numpy": 9, "python-random": 9, "listing": 9, "tf-random": 8, "thread": 8, "process": 5, "hash": 6, "keras-seed": 5, "entropy": 5, "name": 5, "addresses": 4, "date": 3, "clock": 3, "thread-left-out": 4},
    "later": {"tf-random": 9, "keras-seed": 9, "file": 9, "thread": 8, "completion": 8, "process": 4, "numpy": 7, "python-random": 7, "generator": 7, "clock": 5, "date": 5, "entropy": 4, "name": 4, "hash": 3, "parallel": 3, "order": 3, "shuffle": 3, "loader": 3, "listing": 3, "addresses": 2, "thread-left-out": 4},
}  # fmt: skip
# Where the value of a seed that differs may have come from.
_SEED_VALUES = ("clock", "date", "entropy", "name", "generator", "hash", "addresses")


def candidates(evidence: Evidence, source: Source) -> list[Candidate]:
    table = _RANKS.get("init" if evidence.first.step == 0 else evidence.first.phase, _RANKS["later"])
    tainted = streams.tainted(evidence)
    found: list[Candidate] = []
    for candidate in _all(evidence, source):
        rank = table.get(candidate.kind.rpartition(":")[2], 1) + candidate.bonus
        if tainted and candidate.kind in _SEED_VALUES:
            rank += 10  # a seed was set to something that differs: it came from there
        if candidate.kind == "keras-seed" and evidence.streams:
            rank += 3
        found.append(replace(candidate, rank=rank))
    return sorted(found, key=lambda candidate: -candidate.rank)


def _all(evidence: Evidence, source: Source) -> Iterator[Candidate]:
    yield from streams.candidates(evidence)
    yield from generators.candidates(evidence)
    yield from outside.candidates(evidence, source)
    yield from workers.candidates(evidence, source)
    yield from stages.candidates(evidence)
