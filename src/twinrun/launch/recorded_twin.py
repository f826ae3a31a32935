"""A recording in the place of a living twin: the same frames, from the disk. Used by --sequential and by diff."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from twinrun.errors import BadRecording
from twinrun.recording.dump import Dump
from twinrun.recording.folder import open_recording
from twinrun.recording.frame import HOST, Frame, pack
from twinrun.recording.outline import Key, Outline, Part
from twinrun.recording.pieces import encoded
from twinrun.recording.sum_digest import sum_digest
from twinrun.recording.values import values_file


class RecordedTwin:
    """Has values only where they were kept."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.manifest, self.reader = open_recording(folder)
        self.seq = -1
        self._dump: tuple[int, Dump | None] | None = None

    def follow(self) -> Iterator[Frame]:
        for seq, frame in enumerate(self.reader.frames()):
            self.seq = seq
            yield frame

    @property
    def _kept(self) -> Dump | None:
        """The values of the frame at hand."""
        if self._dump is None or self._dump[0] != self.seq:
            file = values_file(self.folder, self.seq)
            self._dump = (self.seq, Dump(file) if file.is_file() else None)
        return self._dump[1]

    def outlines(self, keys: list[Key]) -> list[Outline | None]:
        kept = self._kept
        return [None if kept is None else self._outline(kept, key) for key in keys]

    def _outline(self, kept: Dump, key: Key) -> Outline | None:
        found = kept.outline(key)
        if found is None:
            return None
        frame = self.reader.frame(self.seq)
        entry = frame.layout.places.get(key)
        if entry is None or (frame.digests and not self._was_recorded(kept, key, found[1], frame, entry)):
            file = values_file(self.folder, self.seq)
            raise BadRecording(
                f"{file} is damaged: {key[1]} is not what was recorded", hint="record the run again"
            )
        return found[0]

    def _was_recorded(self, kept: Dump, key: Key, on_host: int, frame: Frame, entry: int) -> bool:
        """Whether the digest of a value that was kept is that of its frame. `on_host`: as the host takes it."""
        if frame.layout.kind(entry) == HOST:
            return pack([on_host]) == frame.digest(entry)
        array = kept.array(key)
        try:
            return array is not None and pack([sum_digest(array)]) == frame.digest(entry)
        except (TypeError, ValueError, ArithmeticError):  # of a type that no device digests
            return False

    def values(self, parts: list[Part]) -> bytes | None:
        kept = self._kept
        pieces = [None if kept is None else kept.elements(part) for part in parts]
        known = [encoded(piece) for piece in pieces if piece is not None]
        return b"".join(known) if len(known) == len(parts) else None

    def dump(self, parts: list[Part], file: Path) -> str | None:
        """It has them already."""
        return None

    def go(self) -> None:
        """A recording waits for nobody."""
