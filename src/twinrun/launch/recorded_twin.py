"""A recording in the place of a living twin: the same frames, from the disk. Used by --sequential and by diff."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from twinrun.errors import BadRecording
from twinrun.recording.digest import digest_array
from twinrun.recording.dump import Key, read_dump
from twinrun.recording.folder import open_recording
from twinrun.recording.frame import Frame, pack
from twinrun.recording.values import values_file


class RecordedTwin:
    """Has values only where they were kept."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.manifest, self.reader = open_recording(folder)
        self.seq = -1

    def follow(self) -> Iterator[Frame]:
        for seq, frame in enumerate(self.reader.frames()):
            self.seq = seq
            yield frame

    def dump(self, entries: list[Key], file: Path) -> Path | None:
        kept = values_file(self.folder, self.seq)
        if not kept.is_file():
            return None
        frame = self.reader.frame(self.seq)
        places = frame.layout.places
        for key, value in read_dump(kept).items():
            entry = places.get(key)
            if entry is None or (frame.digests and pack([digest_array(value)]) != frame.digest(entry)):
                raise BadRecording(
                    f"{kept} is damaged: {key[1]} is not what was recorded", hint="record the run again"
                )
        return kept

    def go(self) -> None:
        """A recording waits for nobody."""
