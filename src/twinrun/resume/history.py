"""A recording as a history: what the program's state was before its first step, and what each step did and left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from twinrun.recording.frame import Frame
from twinrun.recording.reader import Reader

_STATE = ("init", "weights", "final")
OF_METRIC = "metric/"  # variables of metrics: in the last frame alone
_OURS = "twinrun_"  # the epoch of a repeatable dataset: the data shows whether that is right
Key = tuple[str, str]  # phase and name


@dataclass
class Step:
    """One step, with all that was seen until the next one. `number` 0 stands for what came before the first."""

    number: int
    state: dict[str, bytes]  # every variable as this step left it, by name
    seeds: dict[str, bytes]  # of random streams: evidence, not compared step by step
    seen: dict[Key, bytes] = field(default_factory=dict)  # the digests of this step, in the order they came
    kinds: dict[Key, set[str]] = field(default_factory=dict)  # of these digests, and of those of the state
    ended: bool = False  # the final state is part of it

    def add(self, frame: Frame) -> None:
        self.ended = self.ended or frame.is_end
        for entry, (phase, name) in enumerate(zip(frame.layout.phases, frame.layout.names, strict=True)):
            digest = frame.digest(entry)
            if name.startswith(_OURS):
                continue
            of_metric = name.startswith(OF_METRIC)
            is_variable = phase in _STATE and not of_metric
            key = (
                phase,
                name.partition("[")[0] if of_metric else name,
            )  # the second of a name has [2] after it
            self.kinds.setdefault(key, set()).add(frame.layout.kind(entry))
            if phase == "seed":
                self.seeds[name] = digest
            elif is_variable:
                self.state[name] = digest
            if phase in ("init", "seed"):
                continue
            before = self.seen.get(key, b"")
            # Of a variable, what the step itself left and what it was in the end: how often it is reported in between
            # depends on when it was made.
            self.seen[key] = (before[:8] or digest) + digest if is_variable else before + digest


def history(reader: Reader) -> Iterator[Step]:
    """The steps of a recording that keeps every digest. Each is complete when the next one is asked for. A variable that
    has not changed for long is not reported, and is carried over."""
    step = Step(0, {}, {})
    for frame in reader.frames():
        if frame.span:
            yield step
            step = Step(frame.step, dict(step.state), dict(step.seeds))
        step.add(frame)
    yield step
