"""Reads the frames of a recording, also while it is being written, and after a kill.

The file may be a stranger's. It must hold our tables and nothing else; SQLite gives up where a walk through the file takes
longer than it can in one of that size, as its pages may lead back to each other; every value is looked at before it is used."""

from __future__ import annotations

import sqlite3
import stat
import struct
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from twinrun import untrusted
from twinrun.errors import BadRecording
from twinrun.recording.frame import PHASES, RESULTS, Frame, Layout, unpack_values
from twinrun.recording.manifest import must_be_known
from twinrun.recording.store import FILE, FIRST_CHAIN, TABLES, chain

_SETTINGS = ("query_only=ON", "trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0")
_ROUND = 100_000  # instructions of SQLite between two looks at how many there were
_ROUNDS_FOR_ANY = 100  # in the life of a reader, and more the larger the file is:
_BYTES_FOR_ROUND = 60_000  # a frame has some 60, and reading it takes some 10 instructions, a few times over
_LONGEST = untrusted.MOST_BYTES  # of a value
_MOST_FRAMES = 1 << 40
_MOST_NAMES = 1 << 20  # of tensors, in layouts that are kept at hand
_AT_ONCE = 500  # layouts in one query


class Reader:
    """`sealed`: nobody writes to it any more, and what may lie beside the file (a journal, a write-ahead log) is not part
    of it."""

    def __init__(self, folder: Path, *, sealed: bool = False) -> None:
        self.folder = folder
        self._path = folder / FILE
        self._rounds = 0
        self._at_hand: dict[int, Layout] = {}
        self._names = 0  # in the layouts at hand
        try:
            self._must_be_file(sealed)
            self._db = self._connect(sealed)
            if _schema(self._db) != _OURS:
                raise ValueError("its tables are not those of a recording")
            (schema,) = self._one("SELECT value FROM meta WHERE name='schema'")
            must_be_known(self._path, int(schema))
            self._phases = self._read_phases()
        except FileNotFoundError:
            raise BadRecording(f"{folder} is not a recording: it has no {FILE}") from None
        except (sqlite3.Error, ValueError, TypeError, OSError) as problem:
            raise self._damaged(problem) from None

    def _must_be_file(self, sealed: bool) -> None:
        """SQLite notices a missing page only when it reads it, and a comparison reads few. The header says how many pages
        there should be."""
        with untrusted.open_regular(self._path) as file:
            head = file.read(100)
            if len(head) < 100:
                raise ValueError("its end is missing")
            size, pages = struct.unpack(">H", head[16:18])[0], struct.unpack(">I", head[28:32])[0]
            if self._path.stat().st_size < (65536 if size == 1 else size) * pages:
                raise ValueError("its end is missing")
        for beside in () if sealed else ("-wal", "-shm", "-journal"):
            path = self._path.with_name(FILE + beside)
            if path.is_symlink() or (path.exists() and not stat.S_ISREG(path.stat().st_mode)):
                raise ValueError(f"{path.name} is not a file")

    def _connect(self, sealed: bool) -> sqlite3.Connection:
        """Connect for reading only: a journal that somebody put beside the file is not played back."""
        address = f"{self._path.absolute().as_uri()}?{'immutable=1' if sealed else 'mode=ro'}"
        db = sqlite3.connect(address, uri=True, check_same_thread=False)
        db.set_progress_handler(self._is_endless, _ROUND)
        if hasattr(db, "setlimit"):  # before Python 3.11 the size of the file is the limit
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        for setting in _SETTINGS:
            db.execute(f"PRAGMA {setting}")
        return db

    def _is_endless(self) -> bool:
        self._rounds += 1
        if self._rounds < _ROUNDS_FOR_ANY:
            return False
        wal = self._path.with_name(f"{FILE}-wal")
        size = self._path.stat().st_size + (wal.stat().st_size if wal.exists() else 0)
        return self._rounds > _ROUNDS_FOR_ANY + size / _BYTES_FOR_ROUND

    def _read_phases(self) -> dict[int, tuple[str, ...]]:
        """The phases of each layout, in order. Its names are read with the first frame that has it."""
        return {
            number: _phases(text).phase_order
            for number, text in self._in_order("SELECT id, phases FROM layouts ORDER BY id")
        }

    def __len__(self) -> int:
        first, last = self._one("SELECT (SELECT min(seq) FROM frames), (SELECT max(seq) FROM frames)")
        if first is None:
            return 0
        if first != 0 or last >= _MOST_FRAMES:
            raise self._damaged(f"its frames are numbered from {first} to {last}")
        return int(last) + 1

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

    def first_observation(self) -> int | None:
        """The first frame in which something was trained, evaluated or probed."""
        for seq, span, number in self._in_order("SELECT seq, span, layout FROM frames ORDER BY seq"):
            if (isinstance(span, int) and span > 0) or not RESULTS.isdisjoint(self._order(number)):
                return int(seq)
        return None

    def last_step(self) -> int:
        for (step,) in self._rows("SELECT step FROM frames ORDER BY seq DESC LIMIT 1"):
            if not isinstance(step, int):
                raise self._damaged("a frame is invalid")
            return step
        return 0

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
        number, roll = self._one("SELECT layout, rollup FROM frames WHERE seq=?", seq)
        order = self._order(number)
        if not isinstance(roll, bytes) or len(roll) != 8 * len(order):
            raise self._damaged(f"frame {seq} is invalid")
        return {phase: roll[8 * rank : 8 * rank + 8] for rank, phase in enumerate(order)}

    def column(self, phase: str) -> list[tuple[int, bytes]]:
        """(frame, digest) of one phase, of every frame that has it, in order."""
        places = {number: 8 * order.index(phase) for number, order in self._phases.items() if phase in order}
        found: list[tuple[int, bytes]] = []
        for seq, number, roll in self._in_order("SELECT seq, layout, rollup FROM frames ORDER BY seq"):
            place = places.get(number)
            if place is not None:
                if not isinstance(roll, bytes) or len(roll) < place + 8:
                    raise self._damaged(f"frame {seq} is invalid")
                found.append((seq, roll[place : place + 8]))
        return found

    def kinds(self, phase: str) -> dict[str, set[str]]:
        """The kinds of digests that each tensor of a phase has, by name."""
        found: dict[str, set[str]] = {}
        for number in [number for number, order in self._phases.items() if phase in order]:
            layout = self._layout(number)
            for entry, (other, name) in enumerate(zip(layout.phases, layout.names, strict=True)):
                if other == phase:
                    found.setdefault(name, set()).add(layout.kind(entry))
        return found

    def count(self, phase: str) -> int:
        """How many frames have this phase."""
        having = [number for number, order in self._phases.items() if phase in order]
        total = 0
        for start in range(0, len(having), _AT_ONCE):
            some = having[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            total += self._one(f"SELECT count(*) FROM frames WHERE layout IN ({marks})", *some)[0]
        return total

    def bare(self, phase: str, *, without: str) -> list[int]:
        """Frames that are no step and have this phase, and not the other one."""
        wanted = {number for number, order in self._phases.items() if phase in order and without not in order}
        rows = self._in_order("SELECT seq, layout FROM frames WHERE span=0 ORDER BY seq")
        return [seq for seq, number in rows if number in wanted]

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        """Frames in order. `digests` is empty where only the roll-up was kept."""
        columns = "seq, step, span, layout, digests, vals, seconds"
        query = f"SELECT {columns} FROM frames WHERE seq >= ? AND seq < ? ORDER BY seq"
        try:
            for _, step, span, layout, digests, vals, seconds in self._in_order(query, start, stop or 2**62):
                yield _frame(step, span, self._layout(layout), digests, vals, seconds)
        except (struct.error, ValueError, TypeError) as problem:
            raise self._damaged(problem) from None

    def _order(self, number: int) -> tuple[str, ...]:
        """The phases of a layout."""
        if number not in self._phases:  # the run goes on, and may just have made it
            try:
                self._phases = self._read_phases()
            except (ValueError, TypeError) as problem:
                raise self._damaged(problem) from None
        try:
            return self._phases[number]
        except KeyError:
            raise self._damaged(f"layout {number!r} is missing") from None

    def _layout(self, number: int) -> Layout:
        found = self._at_hand.get(number)
        if found is None:
            self._order(number)
            if self._names > _MOST_NAMES:
                self._at_hand.clear()
                self._names = 0
            phases, names, kinds = self._one("SELECT phases, names, kinds FROM layouts WHERE id=?", number)
            try:
                found = self._at_hand[number] = Layout(_phases(phases).phases, _texts(names), kinds)
                if not found.is_valid:
                    raise ValueError("a layout is invalid")
                self._names += len(found)
            except (ValueError, TypeError) as problem:
                raise self._damaged(problem) from None
        return found

    def _rows(self, query: str, *parameters: object) -> Iterator[Any]:
        try:
            yield from self._db.execute(query, parameters)
        # UnicodeError: where SQLite quotes what is garbled.
        except (sqlite3.Error, UnicodeError) as problem:
            raise self._damaged(problem) from None

    def _in_order(self, query: str, *parameters: object) -> Iterator[Any]:
        """The same of rows whose number comes first."""
        before = -1
        for row in self._rows(query, *parameters):
            if row[0] <= before:
                raise self._damaged(f"row {row[0]} is not in its place")
            before = row[0]
            yield row

    def _one(self, query: str, *parameters: object) -> tuple[Any, ...]:
        for row in self._rows(query, *parameters):
            return tuple(row)
        raise self._damaged("a row is missing")

    def _damaged(self, problem: object) -> BadRecording:
        if str(problem) == "interrupted":
            problem = "its pages lead back to each other"
        return BadRecording(
            f"{self._path} is damaged or not a recording: {problem}", hint="record the run again"
        )

    def close(self) -> None:
        self._db.close()


def _schema(db: sqlite3.Connection) -> set[tuple[object, ...]]:
    """The tables of a database, with the statements that made them."""
    rows = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT 20")
    return {
        (kind, name, table, " ".join(sql.split()) if isinstance(sql, str) else sql)
        for kind, name, table, sql in rows
    }


def _ours() -> set[tuple[object, ...]]:
    db = sqlite3.connect(":memory:")
    db.executescript(TABLES)
    found = _schema(db)
    db.close()
    return found


_OURS = _ours()


@lru_cache(maxsize=16)
def _phases(text: str) -> Layout:
    """A layout that has no names yet."""
    phases = _texts(text)
    if not set(phases) <= set(PHASES):
        raise ValueError("a layout has phases that there are not")
    return Layout(phases, ())


def _texts(text: str) -> tuple[str, ...]:
    if not isinstance(text, str):
        raise ValueError("a layout is not a text")
    found = untrusted.parse_json(text.encode())
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError("a layout is not a list of texts")
    return tuple(found)


def _frame(
    step: object, span: object, layout: Layout, digests: object, vals: object, seconds: object
) -> Frame:
    digests = b"" if digests is None else digests
    if not (
        isinstance(step, int)
        and isinstance(span, int)
        and isinstance(digests, bytes)
        and isinstance(vals, bytes)
    ):
        raise ValueError("a frame is invalid")
    if len(digests) not in (0, 8 * len(layout)) or not isinstance(seconds, (int, float)):
        raise ValueError("a frame is invalid")
    values = unpack_values(vals)
    if any(entry >= len(layout) for entry, _ in values):
        raise ValueError("a frame has values of tensors that it does not have")
    return Frame(step, span, layout, digests, values, seconds)
