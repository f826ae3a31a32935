"""A recording in the place of a living twin: the same frames, from the disk. Used by --sequential and by diff."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from twinrun.recording.dump import Key
from twinrun.recording.frame import Frame
from twinrun.recording.store import Reader
from twinrun.recording.values import values_file


class RecordedTwin:
    """Has values only where they were kept."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.reader = Reader(folder)
        self.seq = -1

    def follow(self) -> Iterator[Frame]:
        for seq, frame in enumerate(self.reader.frames()):
            self.seq = seq
            yield frame

    def dump(self, entries: list[Key], file: Path) -> Path | None:
        kept = values_file(self.folder, self.seq)
        return kept if kept.is_file() else None

    def go(self) -> None:
        """A recording waits for nobody."""
