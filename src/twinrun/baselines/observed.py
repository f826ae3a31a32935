"""What a baseline is made from and compared with: the steps of one run, where they can be read, and its
environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from twinrun.environment.environment import Environment
from twinrun.errors import BadRecording
from twinrun.recording.frame import Frame
from twinrun.recording.manifest import read_manifest
from twinrun.recording.store import Reader, chain

Place = tuple[str, str]  # phase, name


class Sightings(Protocol):
    """The frames of a run by number: a recording's reader, or frames in memory."""

    def __len__(self) -> int: ...
    def chain_at(self, seq: int) -> bytes: ...
    def frame(self, seq: int) -> Frame: ...
    def frames(self) -> Iterator[Frame]: ...


@dataclass(frozen=True)
class Observed:
    """One run. `samples` holds some values of the tensors it ended with, where a contract needs values."""

    program: str
    environment: Environment
    sightings: Sightings
    arguments: tuple[str, ...] = ()
    steps: int | None = None
    pin: str | None = None
    samples: Mapping[Place, np.ndarray] = field(default_factory=dict)
    recording: str | None = None

    def __post_init__(self) -> None:
        if len(self.sightings) == 0:
            raise BadRecording(
                "no training step was observed, so there is nothing to keep or compare",
                hint="`twinrun check` says what was seen of the program",
            )

    def metrics(self) -> dict[str, float]:
        """The last value of every loss, metric and probe that was seen."""
        last: dict[str, float] = {}
        for frame in self.sightings.frames():
            for entry, value in frame.values:
                last[frame.layout.names[entry]] = value
        return last

    def with_samples(self, samples: Mapping[Place, np.ndarray]) -> Observed:
        return replace(self, samples=dict(samples))


class InMemory:
    """Frames that were never on disk."""

    def __init__(self, frames: list[Frame]) -> None:
        self._frames = frames
        self._chains: list[bytes] = []
        before = bytes(8)
        for frame in frames:
            before = chain(before, frame.step, frame.span, frame.rollup())
            self._chains.append(before)

    def __len__(self) -> int:
        return len(self._frames)

    def chain_at(self, seq: int) -> bytes:
        return self._chains[seq]

    def frame(self, seq: int) -> Frame:
        return self._frames[seq]

    def frames(self) -> Iterator[Frame]:
        return iter(self._frames)


def from_recording(folder: Path, *, steps: int | None = None, pin: str | None = None) -> Observed:
    """A finished recording. One that failed or was cut off says nothing about where the program ends."""
    manifest = read_manifest(folder)
    if manifest.status not in ("ended", "stopped"):
        raise BadRecording(
            f"the recording {folder} did not come to its end (it is {manifest.status!r})",
            hint="run the program again and let it finish",
        )
    return Observed(
        program=manifest.program,
        environment=Environment.from_json(manifest.environment, where=str(folder)),
        sightings=Reader(folder),
        arguments=manifest.arguments,
        steps=steps,
        pin=pin,
        recording=str(folder),
    )


def place(frame: Frame, entry: int) -> Place:
    return frame.layout.phases[entry], frame.layout.names[entry]


def sample(array: np.ndarray, most: int) -> np.ndarray:
    """Evenly spread values of the flattened array, its ends included."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.size <= most:
        return flat
    return flat[np.linspace(0, flat.size - 1, most).astype(np.int64)]


def samples_of(tensors: Mapping[Place, Any], in_all: int = 2048) -> dict[Place, np.ndarray]:
    """A few values of each tensor, so that all of them fit into a small file. Strings have no values to
    compare."""
    numeric = {where: np.asarray(value) for where, value in tensors.items()}
    numeric = {where: value for where, value in numeric.items() if value.dtype.kind not in "OSU"}
    most = min(64, max(4, in_all // max(1, len(numeric))))
    return {where: sample(value, most) for where, value in numeric.items()}
