"""Where a recording keeps the values of its tensors, for those that keep them beside digests."""

from __future__ import annotations

import shutil
from pathlib import Path

from twinrun.recording.folder import recordings_below

FOLDER = "values"


def values_file(folder: Path, seq: int) -> Path:
    return folder / FOLDER / f"{seq:08d}.safetensors"


def drop_values(folder: Path) -> None:
    """Remove the values of all recordings below a folder."""
    for recording in recordings_below(folder):
        shutil.rmtree(recording / FOLDER, ignore_errors=True)
