"""A recording in the place of a living twin: the same frames, from the disk. Used by --sequential and by diff."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from twinrun.recording.frame import Frame
from twinrun.recording.store import Reader

VALUES = "values"


def values_file(folder: Path, seq: int) -> Path:
    return folder / VALUES / f"{seq:08d}.safetensors"


class RecordedTwin:
    """Answers `dump` only where values were kept."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.reader = Reader(folder)
        self.seq = -1

    def follow(self) -> Iterator[Frame]:
        for seq, frame in enumerate(self.reader.frames()):
            self.seq = seq
            yield frame

    def ask(self, what: str, **details: Any) -> dict[str, Any]:
        kept = values_file(self.folder, self.seq)
        if what != "dump" or not kept.is_file():
            return {"error": "this recording keeps digests and no values"}
        return {"written": details["entries"], "gone": [], "file": str(kept)}

    def go(self) -> None:
        """A recording waits for nobody."""
