"""What the workers of one cluster recorded, step by step: with the values of their tensors, where those were kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from twinrun.counted import counted
from twinrun.launch.children import Child, children_of, ends_of
from twinrun.launch.family import CRASHED
from twinrun.launch.twin_process import not_instrumented
from twinrun.protocol import Facts
from twinrun.recording.dump import Dump
from twinrun.recording.folder import open_recording
from twinrun.recording.frame import Frame
from twinrun.recording.outline import Key
from twinrun.recording.values import values_file
from twinrun.result import Reason
from twinrun.twin.share import elements_of

RATE = "learning-rate"  # the role of a variable; see Facts


class Tensor(NamedTuple):
    """A tensor in one frame of a recording."""

    digest: tuple[str, bytes]  # with its kind
    folder: Path
    seq: int
    key: Key

    def value(self) -> np.ndarray | None:
        """Its value, or None where it was not kept."""
        kept = _dump(values_file(self.folder, self.seq))
        return None if kept is None else kept.array(self.key)


@lru_cache(maxsize=64)
def _dump(file: Path) -> Dump | None:
    return Dump(file) if file.is_file() else None


Tensors = dict[str, Tensor]  # by name


@dataclass
class WorkerStep:
    """`weights` are those that were reported: one that has not changed for long is not."""

    span: int
    batch: Tensors = field(default_factory=dict)
    loss: Tensors = field(default_factory=dict)
    weights: Tensors = field(default_factory=dict)

    def elements(self) -> list[int] | None:
        """The digests of the elements of its batch; None where they are not known."""
        arrays = [(name, tensor.value()) for name, tensor in self.batch.items()]
        known = [(name, array) for name, array in arrays if array is not None]
        return elements_of(known) if known and len(known) == len(arrays) and self.span == 1 else None


@dataclass
class Worker:
    """`streams` are the random streams that the framework keeps, before the first step."""

    number: int
    facts: Facts
    initial: Tensors = field(default_factory=dict)
    streams: Tensors = field(default_factory=dict)
    steps: dict[int, WorkerStep] = field(default_factory=dict)

    def add(self, folder: Path, seq: int, frame: Frame) -> None:
        if frame.span:
            self.steps[frame.step] = WorkerStep(frame.span)
        elif self.steps:  # after a step: an evaluation, the end
            return
        for entry, key in enumerate(zip(frame.layout.phases, frame.layout.names, strict=True)):
            tensor = Tensor((frame.layout.kind(entry), frame.digest(entry)), folder, seq, key)
            if not self.steps and key[0] in ("init", "seed"):
                (self.initial if key[0] == "init" else self.streams)[key[1]] = tensor
            elif frame.span and key[0] in ("batch", "loss", "weights"):
                getattr(self.steps[frame.step], key[0])[key[1]] = tensor

    def weights(self, steps: Sequence[int]) -> Iterator[Tensors]:
        """All of them, as each of these steps left them."""
        known: Tensors = {}
        wanted = set(steps)
        for number, step in self.steps.items():
            known.update(step.weights)
            if number in wanted:
                yield dict(known)

    def seeds(self) -> dict[str, str]:
        """That were given to random streams, and what those that a framework keeps began with."""
        states = ((name, control.state) for name, control in self.facts.controls.items())
        found = {
            name: str(state["seed"]) for name, state in states if isinstance(state, dict) and "seed" in state
        }
        found |= {
            f"{each.call} at {each.place}": each.seed for each in self.facts.events if each.seed is not None
        }
        return found | {name: stream.digest[1].hex() for name, stream in self.streams.items()}

    def rates(self, steps: Sequence[int]) -> list[tuple[float, ...]] | None:
        """The learning rates of the optimizers at each step; None where they are not variables that were seen."""
        names = [name for name, role in self.facts.roles.items() if role == RATE]
        found = []
        for weights in self.weights(steps) if names else ():
            values = [weights[name].value() for name in names if name in weights]
            known = [float(value) for value in values if value is not None and value.ndim == 0]
            if len(known) < len(names):
                return None
            found.append(tuple(known))
        return found or None


@dataclass(frozen=True)
class Cluster:
    """One run with all its workers, by number."""

    workers: list[Worker]

    @property
    def steps(self) -> list[int]:
        """How many steps every worker took."""
        first, *others = (worker.steps for worker in self.workers)
        return [step for step in first if all(step in each for each in others)]

    @property
    def last(self) -> int:
        return max(step for worker in self.workers for step in worker.steps)

    def title(self, worker: Worker) -> str:
        """What stands in front of the name of a tensor."""
        return f"worker {worker.number}: " if len(self.workers) > 1 else ""

    def __str__(self) -> str:
        return counted(len(self.workers), "worker")


def read_cluster(twin: Path) -> Cluster:
    ends = {about.worker: (folder, end.facts) for about, folder, end in ends_of(twin) if end is not None}
    found = []
    for number in sorted(number for number in ends if number is not None):
        folder, facts = ends[number]
        worker = Worker(number, facts)
        if any(child.about.worker == number and child.content for child in children_of(twin)):
            with contextlib.closing(open_recording(folder)[1]) as reader:
                for seq, frame in enumerate(reader.frames()):
                    worker.add(folder, seq, frame)
        found.append(worker)
    return Cluster(found)


def incomplete(twin: Path) -> Reason | None:
    """Why not all that the workers of a cluster did is known."""
    for child in children_of(twin):
        if (reason := _incomplete(child)) is not None:
            return reason
    return None


def _incomplete(child: Child[Path]) -> Reason | None:
    name = child.about.label
    if child.about.unwatched:
        return Reason("not-instrumented", f"{name} cannot be watched: {child.about.unwatched}")
    if child.trouble is not None:
        return not_instrumented(child.trouble, name)
    if child.about.worker is not None and not child.whole:
        steps = child.content.steps if child.content is not None else 0
        known = f"what came after step {steps} is not known"
        return Reason("abrupt-exit", f"{name} {CRASHED}: {known}")
    return None
