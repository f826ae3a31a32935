"""Recordings made of frames, without any program."""

from __future__ import annotations

from pathlib import Path

from twinrun.recording.frame import Frame, Layout, pack
from twinrun.recording.manifest import Manifest, Status
from twinrun.recording.store import Writer


def plain(count: int, changed: int | None = None, tensors: int = 2) -> list[Frame]:
    """A run in which everything from frame `changed` on is different."""
    layout = Layout(("weights",) * tensors, tuple(f"w{n}" for n in range(tensors)))
    tail = 0 if changed is None else 1
    return [
        Frame(
            step,
            1,
            layout,
            pack(
                [
                    step * 7 + n + (tail if changed is not None and step >= changed else 0)
                    for n in range(tensors)
                ]
            ),
        )
        for step in range(count)
    ]


def record(folder: Path, made: list[Frame], *, detail: bool = False, status: Status = "ended") -> Path:
    folder.mkdir(parents=True)
    writer = Writer(folder, detail=detail)
    for frame in made:
        writer.write(frame)
    Manifest("train.py", status=status, exit_code=0, seal=writer.close()).write(folder)
    return folder
