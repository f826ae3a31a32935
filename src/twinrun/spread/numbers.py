"""The numbers of one run: the last value of each loss, metric and probe."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from twinrun.launch.children import children_of
from twinrun.recording.frame import MEASURED, Frame
from twinrun.recording.reader import Reader

_EPOCH = "epoch/"


@dataclass(frozen=True)
class Numbers:
    """`children` names the processes below the program that reported some, where it reported none itself."""

    metrics: dict[str, float] = field(default_factory=dict)
    children: tuple[str, ...] = ()


def numbers_of(recording: Path) -> Numbers:
    """Those of the program itself. Where it has none, those of the process that it started, if there is only one that
    has some: a contract looks there too."""
    if own := _read(recording):
        return Numbers(own)
    children = [
        (child.about.label, _read(child.recording)) for child in children_of(recording) if child.content
    ]
    having = [(label, metrics) for label, metrics in children if metrics]
    return Numbers(having[0][1] if len(having) == 1 else {}, tuple(label for label, _ in having))


def _read(recording: Path) -> dict[str, float]:
    with contextlib.closing(Reader(recording)) as reader:
        return metrics_of(reader.frames())


def metrics_of(frames: Iterable[Frame]) -> dict[str, float]:
    """The last value of each loss, metric and probe: that of an epoch rather than that of its last batch, as a contract
    looks them up."""
    found: dict[str, float] = {}
    for frame in frames:
        for entry, value in frame.values:
            if frame.layout.phases[entry] in MEASURED:
                found[frame.layout.names[entry]] = value
    epochs = {name: value for name, value in found.items() if name.startswith(_EPOCH)}
    of_batches = {name: value for name, value in found.items() if name not in epochs}
    return of_batches | {name.removeprefix(_EPOCH): value for name, value in epochs.items()}
