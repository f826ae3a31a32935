"""The SQLite file of a recording: one row a frame, written as the run goes, readable meanwhile and after a kill."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import xxhash

from twinrun.errors import BadRecording
from twinrun.recording.frame import EVIDENCE, MOST_LAYOUTS, PHASES, Frame, Layout, pack_values, unpack_values
from twinrun.recording.manifest import SCHEMA, Seal, must_be_known
from twinrun.recording.writing import writing

FILE = "steps.sqlite"
FIRST_CHAIN = bytes(8)  # before the first frame
WHOLE_FRAMES = 1000  # beyond this many, per-tensor digests are rolled up to one per phase

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE layouts (id INTEGER PRIMARY KEY, phases TEXT NOT NULL, names TEXT NOT NULL);
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
            self._db.executescript(_TABLES)
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
                "INSERT INTO layouts VALUES (?,?,?)",
                (number, json.dumps(layout.phases), json.dumps(layout.names)),
            )
        return number

    def close(self) -> Seal:
        """Fold the write-ahead log into the one file, so that the folder can be copied as it is."""
        with writing(self._path):
            self._db.execute("PRAGMA journal_mode=DELETE")
            self._db.close()
        return Seal(self._count, self._chain.hex(), digest_of(self._path))


def seal_left(folder: Path) -> Seal:
    """Close the file that a killed process has left, as its writer would have."""
    path = folder / FILE
    with writing(path), closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=DELETE")
    with closing(Reader(folder)) as reader:
        frames = len(reader)
        last = reader.chain_at(frames - 1) if frames else FIRST_CHAIN
    return Seal(frames, last.hex(), digest_of(path))


def digest_of(path: Path) -> str:
    """A digest of a whole file: it is read at the speed of the disk, where going through its rows takes seconds."""
    hasher = xxhash.xxh3_128()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                hasher.update(block)
    except FileNotFoundError:
        raise BadRecording(f"{path.parent} is not a recording: it has no {path.name}") from None
    except OSError as problem:
        raise BadRecording(f"{path} cannot be read: {problem.strerror}") from None
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


class Reader:
    """Reads the frames of a recording, also while it is being written. `sealed`: nobody writes to it any more, and
    what may lie beside the file (a journal, a write-ahead log) is not part of it."""

    def __init__(self, folder: Path, *, sealed: bool = False) -> None:
        self.folder = folder
        self._path = folder / FILE
        if not self._path.is_file():
            raise BadRecording(f"{folder} is not a recording: it has no {FILE}")
        try:
            address = self._path.absolute().as_uri() + ("?immutable=1" if sealed else "")
            self._db = sqlite3.connect(address, uri=True, check_same_thread=False)
            self._db.execute("PRAGMA query_only=ON")
            (schema,) = self._db.execute("SELECT value FROM meta WHERE name='schema'").fetchone()
            must_be_known(self._path, int(schema))
            self._layouts = self._read_layouts()
        except (sqlite3.Error, ValueError, TypeError, OSError) as problem:
            raise self._damaged(problem) from None
        if _is_cut(self._path):
            raise self._damaged("its end is missing")

    def _read_layouts(self) -> dict[int, Layout]:
        rows = self._db.execute("SELECT id, phases, names FROM layouts")
        return {
            number: _checked(Layout(tuple(json.loads(phases)), tuple(json.loads(names))))
            for number, phases, names in rows
        }

    def __len__(self) -> int:
        return int(self._one("SELECT coalesce(max(seq) + 1, 0) FROM frames")[0])

    def verify(self) -> None:
        """Go through all rows: numbered without a gap, each roll-up that of its digests, each chain that of its history.
        Rows that are missing at the end are not noticed here."""
        before = FIRST_CHAIN
        query = "SELECT seq, step, span, layout, rollup, chain, digests FROM frames ORDER BY seq"
        for place, (seq, step, span, number, roll, after, digests) in enumerate(self._rows(query)):
            layout = self._layout(number)
            order = layout.phase_order
            if seq != place or not isinstance(roll, bytes) or len(roll) != 8 * len(order):
                raise self._damaged(f"frame {place} is missing or invalid")
            rollup = tuple((phase, roll[8 * rank : 8 * rank + 8]) for rank, phase in enumerate(order))
            before = chain(before, step, span, rollup)
            if before != after:
                raise self._damaged(f"frame {place} was changed, or one before it is missing")
            fits = digests is None or (isinstance(digests, bytes) and len(digests) == 8 * len(layout))
            if not fits or (digests and Frame(step, span, layout, digests).rollup() != rollup):
                raise self._damaged(f"the digests of frame {place} were changed")

    def _layout(self, number: int) -> Layout:
        if number not in self._layouts:  # the run goes on, and may just have made it
            try:
                self._layouts = self._read_layouts()
            except (sqlite3.Error, ValueError, TypeError) as problem:
                raise self._damaged(problem) from None
        try:
            return self._layouts[number]
        except KeyError:
            raise self._damaged(f"layout {number} is missing") from None

    def first_observation(self) -> int | None:
        """The first frame in which something was trained, evaluated or probed."""
        telling = [number for number, layout in self._layouts.items() if layout.has_results]
        query = "SELECT seq FROM frames WHERE span > 0 ORDER BY seq LIMIT 1"
        found = [seq for (seq,) in self._rows(query)]
        for number in telling:
            found += [seq for (seq,) in self._rows("SELECT min(seq) FROM frames WHERE layout=?", number)]
        return min((seq for seq in found if seq is not None), default=None)

    def last_step(self) -> int:
        return int(self._one("SELECT coalesce((SELECT step FROM frames ORDER BY seq DESC LIMIT 1), 0)")[0])

    def chain_at(self, seq: int) -> bytes:
        (value,) = self._one("SELECT chain FROM frames WHERE seq=?", seq)
        if not isinstance(value, bytes):
            raise self._damaged(f"frame {seq} is invalid")
        return value

    def frame(self, seq: int) -> Frame:
        for frame in self.frames(seq, seq + 1):
            return frame
        raise self._damaged(f"frame {seq} is missing")

    def rollup(self, seq: int) -> dict[str, bytes]:
        layout, blob = self._one("SELECT layout, rollup FROM frames WHERE seq=?", seq)
        order = self._layouts[layout].phase_order if layout in self._layouts else ()
        if not isinstance(blob, bytes) or len(blob) != 8 * len(order):
            raise self._damaged(f"frame {seq} is invalid")
        return {phase: blob[8 * rank : 8 * rank + 8] for rank, phase in enumerate(order)}

    def column(self, phase: str) -> list[tuple[int, bytes]]:
        """(frame, digest) of one phase, of every frame that has it, in order."""
        found: list[tuple[int, bytes]] = []
        for number, order in self._holding(phase):
            place = 8 * order.index(phase) + 1
            found += self._rows(f"SELECT seq, substr(rollup, {place}, 8) FROM frames WHERE layout=?", number)
        if not all(isinstance(digest, bytes) and len(digest) == 8 for _, digest in found):
            raise self._damaged("a frame is invalid")
        return sorted(found)

    def count(self, phase: str) -> int:
        """How many frames have this phase."""
        holding = [number for number, _ in self._holding(phase)]
        marks = ",".join("?" * len(holding))
        return int(self._one(f"SELECT count(*) FROM frames WHERE layout IN ({marks})", *holding)[0])

    def bare(self, phase: str, *, without: str) -> list[int]:
        """Frames that are no step and have this phase, and not the other one."""
        numbers = [number for number, order in self._holding(phase) if without not in order]
        query = "SELECT seq FROM frames WHERE layout=? AND span=0"
        return sorted(seq for number in numbers for (seq,) in self._rows(query, number))

    def _holding(self, phase: str) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The layouts that have this phase: number, and phases in order."""
        phases = ((number, layout.phase_order) for number, layout in self._layouts.items())
        return ((number, order) for number, order in phases if phase in order)

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        """Frames in order. `digests` is empty where only the roll-up was kept."""
        query = "SELECT step, span, layout, digests, vals, seconds FROM frames WHERE seq >= ? AND seq < ? ORDER BY seq"
        try:
            for step, span, layout, digests, vals, seconds in self._rows(query, start, stop or 2**62):
                yield _frame(step, span, self._layout(layout), digests or b"", vals, seconds)
        except (struct.error, ValueError, TypeError) as problem:
            raise self._damaged(problem) from None

    def _rows(self, query: str, *parameters: object) -> Iterator[Any]:
        try:
            yield from self._db.execute(query, parameters)
        except sqlite3.Error as problem:
            raise self._damaged(problem) from None

    def _one(self, query: str, *parameters: object) -> tuple[Any, ...]:
        for row in self._rows(query, *parameters):
            return tuple(row)
        raise self._damaged("a row is missing")

    def _damaged(self, problem: object) -> BadRecording:
        return BadRecording(
            f"{self._path} is damaged or not a recording: {problem}", hint="record the run again"
        )

    def close(self) -> None:
        self._db.close()


def _checked(layout: Layout) -> Layout:
    if len(layout.phases) != len(layout.names) or not set(layout.phases) <= set(PHASES):
        raise ValueError("a layout is invalid")
    if not all(isinstance(name, str) for name in layout.names):
        raise ValueError("a layout has names that are no text")
    return layout


def _frame(step: object, span: object, layout: Layout, digests: bytes, vals: bytes, seconds: float) -> Frame:
    values = unpack_values(vals)
    if not isinstance(step, int) or not isinstance(span, int) or len(digests) not in (0, 8 * len(layout)):
        raise ValueError("a frame is invalid")
    if any(entry >= len(layout) for entry, _ in values):
        raise ValueError("a frame has values of tensors that it does not have")
    return Frame(step, span, layout, digests, values, seconds)


def _is_cut(path: Path) -> bool:
    """SQLite notices a missing page only when it reads it, and a comparison reads few. The header says how many pages
    there should be."""
    with path.open("rb") as file:
        head = file.read(100)
    size, pages = struct.unpack(">H", head[16:18])[0], struct.unpack(">I", head[28:32])[0]
    return bool(path.stat().st_size < (65536 if size == 1 else size) * pages)
