"""A recording as a whole, manifest and frames: opened only where they fit together, and closed for a process that could not
do so itself."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from msgspec.structs import replace

from twinrun.errors import BadRecording
from twinrun.recording.manifest import Manifest, Seal, Status, read_manifest
from twinrun.recording.reader import Reader
from twinrun.recording.store import FILE, FIRST_CHAIN, digest_of
from twinrun.recording.writing import writing


def open_recording(folder: Path) -> tuple[Manifest, Reader]:
    """Refuses one that is damaged: frames removed, changed, repeated or in another order. A run that is still under way,
    or whose parent was killed with it, has no seal: its rows are gone through one by one."""
    manifest = read_manifest(folder)
    seal = manifest.seal
    if seal is None:
        if manifest.status in ("ended", "stopped", "failed") and manifest.schema > 1:
            raise _does_not_fit(folder, "it has no seal")
        reader = Reader(folder)
        reader.verify()
        return manifest, reader
    if digest_of(folder / FILE) != seal.digest:
        raise _does_not_fit(folder, f"{FILE} is not what it was when the run ended")
    reader = Reader(folder, sealed=True)
    frames = len(reader)
    last = reader.chain_at(frames - 1) if frames else FIRST_CHAIN
    if (frames, last.hex()) != (seal.frames, seal.chain):
        raise _does_not_fit(folder, f"{FILE} has {frames} frames, the manifest says {seal.frames}")
    return manifest, reader


def recordings_below(folder: Path) -> list[Path]:
    """The folders of all recordings in one."""
    return [path.parent for path in folder.rglob(FILE)]


def _does_not_fit(folder: Path, why: str) -> BadRecording:
    return BadRecording(f"the recording {folder} is damaged: {why}", hint="record the run again")


def record_end(folder: Path, status: Status, exit_code: int | None) -> None:
    """Complete the manifest of a process that is gone: its exit code, and, where it could not say itself how it ended, the status, with a
    seal on what it has left."""
    manifest = replace(read_manifest(folder), exit_code=exit_code)
    if manifest.status == "running":
        manifest = replace(manifest, status=status)
        with contextlib.suppress(Exception):  # on a full disk, say: the status matters more
            manifest = replace(manifest, seal=_seal_left(folder))
    manifest.write(folder)


def _seal_left(folder: Path) -> Seal:
    """Close the file that a killed process has left, as its writer would have."""
    path = folder / FILE
    with writing(path), contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=DELETE")
    with contextlib.closing(Reader(folder)) as reader:
        frames = len(reader)
        last = reader.chain_at(frames - 1) if frames else FIRST_CHAIN
    return Seal(frames, last.hex(), digest_of(path))
