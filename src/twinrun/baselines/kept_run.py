"""One run as a baseline keeps it: the frames of its steps, thinned, with its metrics, its environment and the processes
that it started. Baselines and the runs that are compared with them are both made of it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np

from twinrun.comparison.measure import Witness
from twinrun.environment.environment import Environment
from twinrun.environment.numeric_fingerprint import array_of, sample_of, sample_places
from twinrun.errors import BadRecording
from twinrun.launch.children import Child, children_of
from twinrun.masking import Masked
from twinrun.recording.dump import read_dump
from twinrun.recording.folder import open_recording
from twinrun.recording.frame import EVIDENCE, Frame, Layout
from twinrun.recording.outline import Key, Part
from twinrun.recording.pieces import is_text
from twinrun.recording.reader import Reader
from twinrun.recording.store import chain
from twinrun.recording.values import values_file

# Steps that are kept: all of a short run; of a longer one the first half of these one by one, the rest ever
# further apart. Which ones does not depend on the length, so that runs of different lengths can be compared.
MOST_ROWS = 96
_SPREAD = 1.16
# Digests of single tensors that are kept in all; a row without them still has its chain.
MOST_DIGESTS = 800
_MOST_SAMPLED = 2048  # values of all tensors together, where there are not too many of them


class Row(msgspec.Struct, frozen=True, array_like=True):
    """One frame that is kept. `chain` is a digest of the history up to it, `layout` a number into the run's
    layouts, `digests` those of the tensors in hexadecimal."""

    seq: int
    step: int
    span: int
    layout: int
    chain: str
    digests: str | None = None
    values: tuple[tuple[int, float], ...] = ()


class KeptLayout(msgspec.Struct, frozen=True, array_like=True):
    phases: tuple[str, ...]
    names: tuple[str, ...]
    kinds: str = ""  # of digests, as in a Layout

    @property
    def layout(self) -> Layout:
        return Layout(self.phases, self.names, self.kinds)


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """Some values of a tensor that the run ended with, where a contract needs values."""

    phase: str
    name: str
    dtype: str
    data: bytes

    def array(self) -> np.ndarray:
        return array_of(self.dtype, self.data)


@dataclass(frozen=True, kw_only=True)
class KeptSteps(Masked):
    """The steps of one process."""

    AS_IS: ClassVar[tuple[str, ...]] = ("rows", "samples")
    frames: int = 0
    last_step: int = 0
    metrics: dict[str, float] = field(default_factory=dict)  # the last value of each loss, metric and probe
    layouts: tuple[KeptLayout, ...] = ()
    rows: tuple[Row, ...] = ()
    samples: tuple[Sample, ...] = ()

    def frame(self, row: Row) -> Frame:
        """The frame of a row, as a recording has it. Raises where a row does not fit its layout."""
        layout = self.layouts[row.layout].layout
        digests = bytes.fromhex(row.digests or "")
        if not layout.is_valid or (row.digests and len(digests) != 8 * len(layout)):
            raise ValueError(f"step {row.step} does not fit its layout")
        if any(entry >= len(layout) for entry, _ in row.values):
            raise ValueError(f"step {row.step} has values of tensors that it does not have")
        return Frame(row.step, row.span, layout, digests, row.values)


@dataclass(frozen=True, kw_only=True)
class KeptRun(KeptSteps):
    """A program with the processes that it started. `stopped`: at the step asked for."""

    AS_IS: ClassVar[tuple[str, ...]] = (
        *KeptSteps.AS_IS,
        "arguments",
        "recording",
    )  # arguments are masked one by one
    program: str
    arguments: tuple[str, ...] = ()
    steps: int | None = None
    pin: str | None = None
    environment: Environment
    stopped: bool = False
    children: tuple[Child[KeptSteps], ...] = ()
    recording: str | None = None


def from_recording(folder: Path, **details: Any) -> KeptRun:
    """A finished recording. One that failed or was cut off does not show where the program ends."""
    manifest, reader = open_recording(folder)
    if manifest.missing_end is not None:
        raise BadRecording(
            f"the recording {folder} is not complete: it {manifest.missing_end}",
            hint="run the program again and let it finish",
        )
    children = tuple(map(_kept_child, children_of(folder)))
    if reader.first_observation() is None and not children:
        raise BadRecording(
            "no training step was observed, so there is nothing to keep or compare",
            hint="`twinrun check` reports what was observed of the program",
        )
    details |= {
        "program": manifest.program,
        "arguments": manifest.arguments,
        "environment": Environment.from_json(manifest.environment, where=str(folder)),
        "stopped": manifest.status == "stopped",
        "children": children,
        "recording": str(folder),
    }
    return KeptRun(**_of_recording(reader), **details)


def _kept_child(child: Child[Path]) -> Child[KeptSteps]:
    """A process number says nothing about another run."""
    kept = KeptSteps()
    if child.content is not None and child.content.frames:
        _, reader = open_recording(child.recording)
        values = values_file(child.recording, len(reader) - 1)  # there if a contract needs them
        ending = _ending(read_dump(values)) if values.is_file() else {}
        kept = KeptSteps(**_of_recording(reader), samples=samples_of(ending))
    about = msgspec.structs.replace(child.about, pid=0)
    return Child(about, kept, child.status, child.trouble, child.content, child.member)


def _ending(tensors: Mapping[Key, Any]) -> dict[Key, Any]:
    """The final state, or that of the last step where the process was stopped there."""
    phases = {phase for phase, _ in tensors}
    return {
        key: value
        for key, value in tensors.items()
        if key[0] == ("final" if "final" in phases else "weights")
    }


def _of_recording(reader: Reader) -> dict[str, Any]:
    with contextlib.closing(reader):
        return _thinned(len(reader), reader.frame, reader.chain_at, reader.frames())


def from_frames(frames: list[Frame], **details: Any) -> KeptRun:
    """Frames that were never on disk."""
    chains = [bytes(8)]
    for frame in frames:
        chains.append(chain(chains[-1], frame.step, frame.span, frame.rollup()))
    return KeptRun(**_thinned(len(frames), frames.__getitem__, chains[1:].__getitem__, frames), **details)


def kept_steps(count: int) -> list[int]:
    """Numbers of the frames to keep, the first and the last included."""
    if count <= MOST_ROWS:
        return list(range(count))
    first = MOST_ROWS // 2
    spread = (int(first * _SPREAD**power) for power in itertools.count())
    return sorted({*range(first), *itertools.takewhile(lambda seq: seq < count, spread), count - 1})


def _thinned(
    count: int,
    frame_at: Callable[[int], Frame],
    chain_at: Callable[[int], bytes],
    frames: Iterable[Frame],
) -> dict[str, Any]:
    """The fields of KeptSteps, but for samples."""
    layouts: dict[Layout, int] = {}
    rows, left = [], MOST_DIGESTS
    for seq in kept_steps(count):
        frame = frame_at(seq)
        frame = _part_of(
            frame, [e for e in range(len(frame.layout)) if frame.layout.phases[e] not in EVIDENCE]
        )
        layout = layouts.setdefault(frame.layout, len(layouts))
        # The final state is the most telling, and is kept in any case.
        whole = frame.digests and (len(frame.layout) <= left or seq == count - 1)
        left -= len(frame.layout) if whole else 0
        digests = frame.digests.hex() if whole else None
        rows.append(Row(seq, frame.step, frame.span, layout, chain_at(seq).hex(), digests, frame.values))
    metrics = {frame.layout.names[entry]: value for frame in frames for entry, value in frame.values}
    return {
        "frames": count,
        "last_step": rows[-1].step if rows else 0,
        "metrics": metrics,
        "layouts": tuple(KeptLayout(each.phases, each.names, each.kinds) for each in layouts),
        "rows": tuple(rows),
    }


def _part_of(frame: Frame, entries: list[int]) -> Frame:
    """The frame with these of its entries only."""
    layout = frame.layout
    new = {entry: number for number, entry in enumerate(entries)}
    return Frame(
        frame.step,
        frame.span,
        Layout(
            tuple(layout.phases[e] for e in entries),
            tuple(layout.names[e] for e in entries),
            "".join(layout.kinds[e] for e in entries) if layout.kinds else "",
        ),
        b"".join(frame.digest(e) for e in entries),
        tuple((new[entry], value) for entry, value in frame.values if entry in new),
    )


def samples_of(tensors: Mapping[Key, Any]) -> tuple[Sample, ...]:
    """A few values of each tensor, so that all of them fit into a small file. Strings have no values to
    compare."""
    arrays = {key: np.asarray(value) for key, value in tensors.items()}
    numeric = {key: array for key, array in arrays.items() if not is_text(str(array.dtype))}
    most = _most_of_each(len(numeric))
    return tuple(
        Sample(phase, name, str(array.dtype), sample_of(array, most).tobytes())
        for (phase, name), array in numeric.items()
    )


def ask_for_samples(witness: Witness, keys: list[Key]) -> tuple[Sample, ...]:
    """The same of the tensors of a run that is held, without reading them whole."""
    outlines = zip(keys, witness.outlines(keys), strict=True)
    numeric = {
        key: outline for key, outline in outlines if outline is not None and not is_text(outline.dtype)
    }
    most = _most_of_each(len(numeric))
    samples = []
    for key, outline in numeric.items():
        places = sample_places(outline.size, most).tolist()
        data = witness.values([Part(*key, place, place + 1) for place in places])
        if data is not None:
            samples.append(Sample(*key, outline.dtype, data))
    return tuple(samples)


def _most_of_each(count: int) -> int:
    return min(64, max(4, _MOST_SAMPLED // max(1, count)))
