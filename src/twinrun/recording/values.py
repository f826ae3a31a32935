"""Where a recording keeps the values of its tensors, for those that keep them beside digests."""

from __future__ import annotations

from pathlib import Path

FOLDER = "values"


def values_file(folder: Path, seq: int) -> Path:
    return folder / FOLDER / f"{seq:08d}.safetensors"
