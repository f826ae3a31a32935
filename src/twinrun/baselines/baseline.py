"""One baseline as a value: digests, metrics, environment, history."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from twinrun import __version__
from twinrun.baselines.observed import Observed, Place, place
from twinrun.environment.environment import Environment
from twinrun.recording.frame import EVIDENCE

# Steps that are kept: of a longer run the first half of them one by one, the rest ever further apart.
MOST_ROWS = 96
# Digests of single tensors that are kept in all; a row without them still has its chain.
MOST_DIGESTS = 800
# Hexadecimal digits of a tensor's digest: enough to name it. The verdict is by the 64-bit chain.
SHORT = 8


@dataclass(frozen=True)
class Row:
    """One step that is kept. `chain` is a digest of everything up to it."""

    seq: int
    step: int
    span: int
    chain: str
    digests: dict[Place, str] | None = None
    values: dict[Place, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Baseline:
    """What a run of this name gave in this environment."""

    name: str
    contract: str
    environment: Environment
    rows: tuple[Row, ...]
    frames: int
    last_step: int
    metrics: dict[str, float]
    program: str = ""
    arguments: tuple[str, ...] = ()
    steps: int | None = None
    pin: str | None = None
    samples: dict[Place, np.ndarray] = field(default_factory=dict)
    recorded: str = ""
    twinrun: str = __version__
    history: tuple[dict[str, Any], ...] = ()

    @property
    def final(self) -> str:
        return self.rows[-1].chain


def kept_steps(count: int) -> list[int]:
    """Numbers of the frames to keep: all of a short run, else the first ones and then ever fewer, the last
    included."""
    if count <= MOST_ROWS:
        return list(range(count))
    first = MOST_ROWS // 2
    rest = np.geomspace(first, count - 1, MOST_ROWS - first).astype(int)
    return sorted({*range(first), *(int(seq) for seq in rest), count - 1})


def baseline_of(
    name: str, contract: str, observed: Observed, recorded: str, history: tuple[dict[str, Any], ...] = ()
) -> Baseline:
    """The baseline of a run: its steps thinned, its environment less what is merely installed."""
    sightings = observed.sightings
    rows, left = [], MOST_DIGESTS
    for seq in kept_steps(len(sightings)):
        frame = sightings.frame(seq)
        judged = [e for e in range(len(frame.layout)) if frame.layout.phases[e] not in EVIDENCE]
        # The final state tells most and is kept whatever came before it.
        whole = bool(frame.digests) and (len(judged) <= left or seq == len(sightings) - 1)
        digests = {place(frame, e): frame.digest(e).hex()[:SHORT] for e in judged} if whole else None
        left -= len(judged) if whole else 0
        values = {place(frame, entry): value for entry, value in frame.values}
        rows.append(Row(seq, frame.step, frame.span, sightings.chain_at(seq).hex(), digests, values))
    return Baseline(
        name=name,
        contract=contract,
        environment=evidence(observed.environment),
        rows=tuple(rows),
        frames=len(sightings),
        last_step=rows[-1].step,
        metrics=observed.metrics(),
        program=observed.program,
        arguments=observed.arguments,
        steps=observed.steps,
        pin=observed.pin,
        samples=dict(observed.samples),
        recorded=recorded,
        history=history,
    )


def evidence(environment: Environment) -> Environment:
    """The environment less what is merely installed: it would be most of the file and explains nothing."""
    facts = {group: dict(fields) for group, fields in environment.facts.items()}
    packages = facts.get("packages", {})
    packages.pop("installed", None)
    return Environment(facts, environment.key)
