"""The SQLite file of a recording: one row a frame, written as the run goes. The reader is a file of its own."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import xxhash

from twinrun import untrusted
from twinrun.errors import BadRecording
from twinrun.recording.frame import EVIDENCE, MOST_LAYOUTS, Frame, Layout, pack_values
from twinrun.recording.manifest import SCHEMA, Seal
from twinrun.recording.writing import writing

FILE = "steps.sqlite"
FIRST_CHAIN = bytes(8)  # before the first frame
WHOLE_FRAMES = 1000  # beyond this many, per-tensor digests are rolled up to one per phase

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE layouts (id INTEGER PRIMARY KEY, phases TEXT NOT NULL, names TEXT NOT NULL, kinds TEXT NOT NULL);
CREATE TABLE frames (
    seq INTEGER PRIMARY KEY, step INTEGER NOT NULL, span INTEGER NOT NULL, layout INTEGER NOT NULL,
    rollup BLOB NOT NULL, chain BLOB NOT NULL, digests BLOB, vals BLOB NOT NULL, seconds REAL NOT NULL);
"""


class Writer:
    """Appends frames. Each frame is committed, so a killed run keeps everything up to its last whole step."""

    def __init__(self, folder: Path, *, detail: bool = False) -> None:
        self._path = folder / FILE
        self._detail = detail
        self._layouts: dict[Layout, int] = {}
        self._next_layout = 0
        self._chain = FIRST_CHAIN
        self._count = 0
        with writing(self._path):
            self._db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            # The kernel keeps what was written when the process is killed; only a power cut could lose it.
            self._db.execute("PRAGMA synchronous=OFF")
            self._db.executescript(TABLES)
            self._db.execute("INSERT INTO meta VALUES ('schema', ?)", (str(SCHEMA),))

    def write(self, frame: Frame) -> None:
        rollup = frame.rollup()
        roll = b"".join(digest for _, digest in rollup)
        self._chain = chain(self._chain, frame.step, frame.span, rollup)
        whole = frame.digests if self._detail or self._count < WHOLE_FRAMES else None
        with writing(self._path):
            row = (
                self._count, frame.step, frame.span, self._layout(frame.layout), roll, self._chain, whole,
                pack_values(frame.values), frame.seconds,
            )  # fmt: skip
            self._db.execute("INSERT INTO frames VALUES (?,?,?,?,?,?,?,?,?)", row)
        self._count += 1

    def _layout(self, layout: Layout) -> int:
        number = self._layouts.get(layout)
        if number is None:
            if len(self._layouts) >= MOST_LAYOUTS:
                self._layouts.clear()
            number = self._layouts[layout] = self._next_layout
            self._next_layout += 1
            self._db.execute(
                "INSERT INTO layouts VALUES (?,?,?,?)",
                (number, json.dumps(layout.phases), json.dumps(layout.names), layout.kinds),
            )
        return number

    def close(self) -> Seal:
        """Fold the write-ahead log into the one file, so that the folder can be copied as it is."""
        with writing(self._path):
            self._db.execute("PRAGMA journal_mode=DELETE")
            self._db.close()
        return Seal(self._count, self._chain.hex(), digest_of(self._path))


def digest_of(path: Path) -> str:
    """A digest of a whole file: it is read at the speed of the disk, where going through its rows takes seconds."""
    hasher = xxhash.xxh3_128()
    try:
        with untrusted.open_regular(path) as file:
            while block := file.read(1 << 20):
                hasher.update(block)
    except FileNotFoundError:
        raise BadRecording(f"{path.parent} is not a recording: it has no {path.name}") from None
    except (OSError, ValueError) as problem:
        raise BadRecording(f"{path} cannot be read: {problem}") from None
    return hasher.hexdigest()


def chain(before: bytes, step: int, span: int, rollup: tuple[tuple[str, bytes], ...]) -> bytes:
    """A digest of everything up to and including a frame: equal chains mean equal histories, so two long
    recordings are compared by bisection."""
    hasher = xxhash.xxh3_64(before)
    hasher.update(f"{step}/{span}".encode())
    for phase, digest in rollup:
        if phase not in EVIDENCE:
            hasher.update(phase.encode())
            hasher.update(digest)
    return hasher.digest()
