"""A recording that somebody else made, to harm whoever compares it: one error in words, soon, and in little memory."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from asked import asked, refused, refused_cheaply
from twinrun.recording.digest import digest_array
from twinrun.recording.dump import write_dump
from twinrun.recording.frame import Frame, Layout, pack
from twinrun.recording.manifest import FILE, Manifest, checksum
from twinrun.recording.store import FILE as STEPS
from twinrun.recording.store import Writer, digest_of
from twinrun.recording.values import values_file

LAYOUT = Layout(("batch", "loss", "weights"), ("x", "loss", "w"))
ONES = np.ones(4, np.float32)


def record(folder: Path, steps: int = 30, changed: int = 99, sealed: bool = True) -> Path:
    folder.mkdir(parents=True)
    writer = Writer(folder)
    for step in range(1, steps + 1):
        digests = [step, step + (step >= changed), digest_array(ONES * step)]
        writer.write(Frame(step, 1, LAYOUT, pack(digests), ((1, 1 / step),)))
    seal = writer.close()
    Manifest(
        "train.py", status="ended" if sealed else "running", exit_code=0, seal=seal if sealed else None
    ).write(folder)
    return folder


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("good") / "a")


@pytest.fixture(params=["sealed", "running"])
def theirs(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """To be made harmful. Whoever means harm writes a seal and a checksum that fit, or leaves the seal out."""
    return record(tmp_path / "theirs", changed=5, sealed=request.param == "sealed")


def edit(folder: Path, **fields: Any) -> None:
    document = {**json.loads((folder / FILE).read_text()), **fields}
    (folder / FILE).write_text(json.dumps({**document, "checksum": checksum(document)}))


def seal_again(folder: Path) -> None:
    document = json.loads((folder / FILE).read_text())
    if document["seal"]:
        edit(folder, seal={**document["seal"], "digest": digest_of(folder / STEPS)})


def with_sql(statements: str) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        with sqlite3.connect(folder / STEPS) as db:
            db.executescript(statements)
        db.close()
        seal_again(folder)

    return harm


def test_the_recordings_of_these_tests_are_fine_before_they_are_harmed(good: Path, theirs: Path) -> None:
    assert asked("diff", good, theirs).out.startswith("diverges at step 5, phase loss")


# the kind of file


def replaced_by(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def harm(path: Path) -> None:
        path.unlink()
        make(path)

    return harm


def sparse(size: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        start = path.read_bytes()
        with path.open("wb") as file:
            file.write(start)
            file.truncate(size)

    return make


NO_FILES = {
    "a pipe": replaced_by(os.mkfifo),
    "a link to a device": replaced_by(lambda path: path.symlink_to("/dev/zero")),
    "a link to a terminal": replaced_by(lambda path: path.symlink_to("/dev/tty")),
    "a link to what the kernel says": replaced_by(lambda path: path.symlink_to("/proc/kmsg")),
    "a link to itself": replaced_by(lambda path: path.symlink_to(path)),
    "a link to nothing": replaced_by(lambda path: path.symlink_to("/nowhere/at/all")),
    "a folder": replaced_by(Path.mkdir),
    "larger than the disk": sparse(1 << 42),
    "empty": replaced_by(Path.touch),
}


@pytest.mark.parametrize("harm", NO_FILES.values(), ids=NO_FILES)
@pytest.mark.parametrize("name", [FILE, STEPS])
def test_what_is_no_file_is_not_opened(
    good: Path, theirs: Path, name: str, harm: Callable[[Path], None]
) -> None:
    harm(theirs / name)
    refused("diff", good, theirs)
    refused("diff", theirs, good)
    if name == FILE:
        refused("env", "show", theirs)


@pytest.mark.parametrize("beside", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("harm", list(NO_FILES.values())[:3], ids=list(NO_FILES)[:3])
def test_what_lies_beside_is_no_part_of_a_sealed_recording_and_must_be_a_file_otherwise(
    good: Path, theirs: Path, beside: str, harm: Callable[[Path], None]
) -> None:
    (theirs / (STEPS + beside)).touch()
    harm(theirs / (STEPS + beside))
    if json.loads((theirs / FILE).read_text())["seal"]:
        assert asked("diff", good, theirs).code == 1
    else:
        refused("diff", good, theirs)


def test_a_journal_of_theirs_removes_no_file_of_ours(good: Path, theirs: Path, tmp_path: Path) -> None:
    """A journal may name another one, which SQLite removes when it has played both back."""
    ours = tmp_path / "ours.txt"
    ours.write_text("/nowhere/else-journal\0")
    name = os.fsencode(ours)
    head = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + struct.pack(">IIIII", 0, 0, 2, 512, 4096)
    tail = struct.pack(">I", 2**30 // 4096 + 1) + name + struct.pack(">II", len(name), sum(name))
    (theirs / f"{STEPS}-journal").write_bytes(
        head.ljust(512, b"\0") + tail + b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
    )
    before = (theirs / STEPS).read_bytes()
    asked("diff", good, theirs)
    assert ours.exists() and (theirs / STEPS).read_bytes() == before


# the manifest

MANIFESTS = {
    "deep": b'{"a":' * 1500 + b"1" + b"}" * 1500,
    "very deep": b"[" * 1_000_000,
    "deep and complete": json.dumps({"program": "x", "schema": 2, "environment": {}}).encode()[:-2]
    + b'"a":' + b"[" * 900 + b"]" * 900 + b"}}",
    "a long number": b'{"schema": ' + b"9" * 5000 + b"}",
    "a large number": b'{"schema": 2, "program": "x", "exit_code": ' + b"9" * 39 + b"}",
    "beyond every number": b'{"schema": 1e999, "program": "x", "started": 1e999}',
    "no number": b'{"schema": NaN, "program": "x"}',
    "a zero": b'{"schema": 2, "program": "a\\u0000b"}',
    "zeros": b"\0" * 5000,
    "twice": b'{"schema": 1, "schema": 2, "program": "x"}',
    "many": b'{"schema": 2, "program": "x", "notes": [' + b'"",' * 2_000_000 + b'""]}',
}  # fmt: skip


@pytest.mark.parametrize("content", MANIFESTS.values(), ids=MANIFESTS)
def test_a_manifest_that_is_not_one_is_refused(good: Path, theirs: Path, content: bytes) -> None:
    (theirs / FILE).write_bytes(content)
    refused("diff", good, theirs)
    asked("env", "show", theirs)


@pytest.mark.parametrize(
    "fields",
    [
        {"program": "\ud800", "notes": ["\udfff\x1b[2J"]},
        {"environment": {"name": ["x"], "key": 3, "facts": "\ud800"}},
        {"environment": {"key": {"framework": {}, "device": [1]}, "facts": {"a": {"b": {"c": "\ud800"}}}}},
        {"controls": {"seed": 3, "\ud800": None}},
        {"started": 1e308, "ended": -1e308, "exit_code": 10**38},
        {"varied": {"\x1b": "\x9b"}},
    ],
)  # fmt: skip
def test_odd_fields_of_a_manifest_are_shown_or_refused(
    good: Path, theirs: Path, fields: dict[str, Any]
) -> None:
    edit(theirs, **fields)
    for output_format in ("text", "json", "junit", "sarif", "github"):
        answer = asked("diff", good, theirs, "--output-format", output_format)
        assert answer.code in (1, 2) and not set(answer.out + answer.err) & {"\x1b", "\x9b", "\ud800"}
    assert asked("diff", good, theirs, "--html", theirs / "page.html").code in (1, 2)
    asked("env", "diff", theirs, good)


# the database


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)"
DATABASES = {
    "a view without end for the frames": f"""DROP TABLE frames; CREATE VIEW frames AS {ENDLESS}
        SELECT i AS seq, i AS step, 1 AS span, 0 AS layout, x'00' AS rollup, x'00' AS chain, NULL AS digests,
        x'' AS vals, 0.0 AS seconds FROM n""",
    "a view without end for the layouts": f"""DROP TABLE layouts; CREATE VIEW layouts AS {ENDLESS}
        SELECT i AS id, '[]' AS phases, '[]' AS names FROM n""",
    "a view without end for what it is": f"""DROP TABLE meta; CREATE VIEW meta AS {ENDLESS}
        SELECT 'schema' AS name, i AS value FROM n""",
    "a view besides": "CREATE VIEW more AS SELECT 1",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON frames BEGIN DELETE FROM frames; END",
    "an index": "CREATE INDEX i ON frames (step)",
    "an index with an expression": "CREATE INDEX i ON frames (hex(zeroblob(step)))",
    "a table besides": "CREATE TABLE more (x)",
    "a computed column": """CREATE TABLE other (seq INTEGER PRIMARY KEY, step INTEGER AS (abs(-9)), span, layout, rollup, chain,
        digests, vals, seconds); DROP TABLE frames; ALTER TABLE other RENAME TO frames""",
    "a table for full-text search": "DROP TABLE meta; CREATE VIRTUAL TABLE meta USING fts5(name, value)",
    "another schema": "UPDATE meta SET value = '99999999999999999999'",
    "a schema that is none": "UPDATE meta SET value = x'00ff'",
    "numbers that are too large": f"UPDATE frames SET seq = {2**63 - 1} WHERE seq = 29",
    "numbers below zero": "UPDATE frames SET seq = seq - 5",
    "a step that is no number": "UPDATE frames SET step = x'00'",
    "a layout that is no number": "UPDATE frames SET layout = 'x'",
    "digests that are text": f"UPDATE frames SET digests = '{'x' * 24}'",
    "values that are text": "UPDATE frames SET vals = 'twelve bytes'",
    "a very long value": "UPDATE frames SET digests = zeroblob(20000000) WHERE seq = 4",
    "a layout that is deep": f"UPDATE layouts SET names = '{'[' * 3000}{']' * 3000}'",
    "a layout that is no list": "UPDATE layouts SET names = '{}'",
    "a layout of numbers": "UPDATE layouts SET names = '[1, 2, 3]'",
    "a phase that there is not": """UPDATE layouts SET phases = '["batch", "loss", "\x1b[31m"]'""",
    "more names than phases": """UPDATE layouts SET names = '["a", "b", "c", "d"]'""",
}  # fmt: skip


@pytest.mark.parametrize("statements", DATABASES.values(), ids=DATABASES)
def test_a_database_that_is_not_ours_is_refused(good: Path, theirs: Path, statements: str) -> None:
    with_sql(statements)(theirs)
    for contract in ("bitwise", "ulp=1", "band=loss:1"):
        answer = asked("diff", good, theirs, "--contract", contract)
        assert answer.code == 2 and answer.out == "", answer
    refused("diff", good, theirs)
    refused("baseline", "record", "--name", "x", "--store", theirs / "store", "--recording", theirs)


def test_odd_values_of_a_database_are_shown_or_refused(good: Path, theirs: Path) -> None:
    with_sql(f"""UPDATE frames SET step = {2**63 - 1}, span = {-(2**62)}, seconds = 9e999 WHERE seq > 20;
        UPDATE layouts SET names = '["\x1b[31m", "\\ud800", "\\u0000"]'""")(theirs)  # fmt: skip
    for contract in ("bitwise", "ulp=1", "rtol=1", "band=loss:1"):
        for output_format in ("text", "json", "junit"):
            answer = asked("diff", good, theirs, "--contract", contract, "--output-format", output_format)
            assert answer.code in (1, 2) and "\x1b" not in answer.out + answer.err


def interior(pages: list[int]) -> bytes:
    """A page of a table that has only further pages below it."""
    cells = [struct.pack(">I", page) + b"\x7f" for page in pages[:-1]]
    starts = [4096 - 5 * (number + 1) for number in range(len(cells))]
    head = b"\x05" + struct.pack(">HHHBI", 0, len(cells), starts[-1], 0, pages[-1])
    body = head + b"".join(struct.pack(">H", start) for start in starts)
    return body.ljust(starts[-1], b"\0") + b"".join(reversed(cells))


@pytest.mark.parametrize("table", ["frames", "layouts"])
def test_pages_that_lead_back_to_each_other_are_not_walked_forever(
    good: Path, theirs: Path, table: str
) -> None:
    """A few pages, each with hundreds of ways to the next, and frames at the end of every way."""
    path = theirs / STEPS
    with sqlite3.connect(path) as db:
        roots = dict(db.execute("SELECT name, rootpage FROM sqlite_master WHERE type = 'table'"))
    db.close()
    data = bytearray(path.read_bytes())
    root = roots[table]
    page = bytes(data[4096 * (root - 1) : 4096 * root])
    first = len(data) // 4096 + 1
    data += page
    for depth in range(15):
        data += interior([first + depth] * 300)
    data[4096 * (root - 1) : 4096 * root] = interior([first + 15] * 300)
    struct.pack_into(">I", data, 28, len(data) // 4096)
    path.write_bytes(data)
    seal_again(theirs)
    refused_cheaply("diff", good, theirs)


# values


@pytest.fixture
def valued(tmp_path: Path) -> tuple[Path, Path]:
    """Two recordings with values, of which the second differs from its third step on."""
    pair = record(tmp_path / "one", 5), record(tmp_path / "other", 5, changed=3)
    for folder in pair:
        (folder / "values").mkdir()
        for seq in range(5):
            write_dump(values_file(folder, seq), {("weights", "w"): ONES * (seq + 1)})
    return pair


def dump(path: Path, tensors: dict[str, np.ndarray], directory: Any) -> None:
    text = directory if isinstance(directory, str) else json.dumps(directory)
    save_file(tensors, str(path), metadata={"tensors": text})


def entry(dtype: str, shape: object, name: str = "w") -> dict[str, Any]:
    return {"phase": "weights", "name": name, "dtype": dtype, "shape": shape}


BYTES = np.frombuffer(struct.pack("<qq", 9, 0) + bytes(8), np.uint8)
DUMPS: dict[str, Callable[[Path], object]] = {
    **{name: harm for name, harm in NO_FILES.items() if name != "a link to nothing"},
    "no directory": lambda path: save_file({"0": ONES}, str(path)),
    "a directory that is deep": lambda path: dump(path, {"0": ONES}, "[" * 100_000),
    "a directory that is no list": lambda path: dump(path, {"0": ONES}, "{}"),
    "an entry that is none": lambda path: dump(path, {"0": ONES}, [3]),
    "a tensor that is not there": lambda path: dump(path, {"0": ONES}, [entry("float32", [4])] * 3),
    "another shape": lambda path: dump(path, {"0": ONES}, [entry("float32", [2**40, 2**40])]),
    "a shape of texts": lambda path: dump(path, {"0": ONES}, [entry("float32", ["x"])]),
    "a type that is an expression": lambda path: dump(path, {"0": BYTES}, [entry("f4," * 9000, [1])]),
    "a type that there is not": lambda path: dump(path, {"0": BYTES}, [entry("__doc__", [1])]),
    "many strings": lambda path: dump(path, {"0": BYTES}, [entry("object", [2**33])]),
    "strings of another length": lambda path: dump(path, {"0": BYTES}, [entry("object", [2])]),
    "strings that go back": lambda path: dump(
        path, {"0": np.frombuffer(struct.pack("<qqqq", 2**20, -(2**20), 2**20, 0), np.uint8)}, [entry("object", [4])]
    ),
    "a head without end": lambda path: path.write_bytes(struct.pack("<Q", 2**40) + bytes(100)),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-3]),
}  # fmt: skip


@pytest.mark.parametrize("harm", DUMPS.values(), ids=DUMPS)
def test_values_that_are_not_those_of_a_recording_are_refused(
    valued: tuple[Path, Path], harm: Callable[[Path], object]
) -> None:
    one, other = valued
    file = values_file(other, 2)
    harm(file)
    if not file.is_file():  # a recording need not have values
        assert asked("diff", one, other, "--contract", "ulp=1").out.startswith("undecided")
    else:
        refused("diff", one, other, "--contract", "ulp=1")


# children


CHILDREN: dict[str, Callable[[Path], object]] = {
    "a place that is none": lambda child: (child / "child.json").write_text(
        '{"identity": "x.\\ud800", "label": "\\u001b[31m", "pid": 9999999}'
    ),
    "no word of it": lambda child: (child / "child.json").write_text("{"),
    "a pipe": lambda child: replaced_by(os.mkfifo)(child / "child.json"),
    "an end that is deep": lambda child: (child / "end.json").write_text(
        '{"status": "ended", "facts": {"type": "facts", "environment": {"a": ' + "[" * 100_000 + "]" * 100_000 + "}}}"
    ),
    "an end that is a pipe": lambda child: os.mkfifo(child / "end.json"),
    "an end, and no frames": lambda child: (
        (child / "end.json").write_text('{"status": "ended", "facts": {"type": "facts"}}'),
        (child / STEPS).write_bytes(b"SQLite format 3\0" + bytes(100)),
    ),
    "frames that are a pipe": lambda child: replaced_by(os.mkfifo)(child / STEPS),
}  # fmt: skip


@pytest.mark.parametrize("harm", CHILDREN.values(), ids=CHILDREN)
def test_no_recording_with_a_child_that_cannot_be_read_repeats(
    theirs: Path, tmp_path: Path, harm: Callable[[Path], object]
) -> None:
    folders = theirs, shutil.copytree(theirs, tmp_path / "other")
    for folder in folders:
        child = record(folder / "children" / "1", 3)
        (child / "child.json").write_text('{"identity": "1", "label": "worker", "pid": 9999999}')
        harm(child)
    answer = asked("diff", *folders)
    assert answer.code == 2 and "\x1b" not in answer.out + answer.err


# what it costs


def test_refusing_takes_little_time_and_little_memory(
    good: Path, theirs: Path, valued: tuple[Path, Path]
) -> None:
    sparse(2 << 30)(theirs / FILE)
    assert "bytes" in refused_cheaply("diff", good, theirs)
    (theirs / FILE).write_bytes(
        b'{"schema": 2, "program": "x", "environment": {"a": [' + b'{"":0},' * 480_000 + b"0]}}"
    )
    refused_cheaply("diff", good, theirs)
    one, other = valued
    bomb = np.frombuffer(struct.pack("<qq", 2**24, -(2**24)) * 200_000 + bytes(2**24), np.uint8)
    dump(values_file(other, 2), {"0": bomb}, [entry("object", [400_000])])
    refused_cheaply("diff", one, other, "--contract", "ulp=1")
