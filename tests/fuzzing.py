"""Files of every format that Twinrun reads, changed at random and read again. Whatever a change makes of a file, the answer
is a result, or one error in words."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import struct
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from asked import asked
from twinrun.baselines import verbs
from twinrun.baselines.baseline import as_text, baseline_of
from twinrun.baselines.kept_run import from_recording
from twinrun.baselines.store import LocalStore, file_of
from twinrun.comparison.contents import contents
from twinrun.comparison.elements import Elements
from twinrun.comparison.frames import Difference
from twinrun.comparison.timeline import Curve, Grid, Row, TensorGrowth, Timeline
from twinrun.environment.environment import Environment, EnvironmentKey, typed
from twinrun.environment.lock import lock_of, read_lock
from twinrun.environment.lock_check import mismatches
from twinrun.environment.numeric_fingerprint import Fingerprint, Probe
from twinrun.errors import TwinrunError
from twinrun.findings.finding import Finding, SourceLine
from twinrun.recording.digest import digest_array
from twinrun.recording.dump import write_dump
from twinrun.recording.frame import Frame, Layout, pack
from twinrun.recording.manifest import Manifest, checksum
from twinrun.recording.store import Writer, digest_of
from twinrun.recording.values import values_file
from twinrun.result import (
    CheckResult,
    ChildResult,
    Conditions,
    Delivered,
    DeviceUse,
    Diagnosis,
    EnvironmentDifference,
    EnvironmentRuns,
    Experiment,
    Growth,
    OutputDifference,
    Stream,
)
from twinrun.trackers.epoch_files import LAST, Epoch

NOT_SHOWN = {chr(code) for code in (*range(9), *range(11, 32), *range(127, 160), 0x202E, 0x2028)}

# changes of documents

_WORDS = st.sampled_from(
    ["", "x", "\x1b[31m", "\x00", "\ud800", "\u202e", "\u2028", "\n::error::x", "</script>", "../..", "/etc/passwd", "9" * 30]
) | st.text(max_size=5)  # fmt: skip
_NUMBERS = st.sampled_from(
    [0, 1, -1, 2**31, 2**63, -(2**63), 10**38, 0.5, -0.0, 1e308, float("inf"), float("nan")]
)
_LEAVES = st.none() | st.booleans() | _NUMBERS | _WORDS
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=5,
)


_FIXED = {
    "schema",
    "type",
    "verdict",
    "output",
    "reason_kind",
    "status",
    "action",
    "tracing",
    "dtype",
    "chain",
    "digests",
}


def with_text(value: Any, text: str) -> Any:
    """With this at the end of every text that may be any."""
    if isinstance(value, dict):
        return {key: inner if key in _FIXED else with_text(inner, text) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_text(inner, text) for inner in value]
    return value + text if isinstance(value, str) else value


@st.composite
def changed(draw: st.DrawFn, document: Any) -> Any:
    """The document with up to three of its values replaced, removed or added to, or with a word at the end of each text."""
    document = json.loads(json.dumps(document))
    if draw(st.integers(0, 9)) == 0:
        return with_text(document, draw(_WORDS))
    for _ in range(draw(st.integers(1, 3))):
        holder: Any = {"": document}
        key: Any = ""
        while isinstance(holder[key], (dict, list)) and holder[key] and draw(st.integers(0, 5)):
            holder = holder[key]
            key = draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
        what = draw(st.sampled_from(["replace", "replace", "remove", "add"]))
        if what == "remove" and key != "":
            del holder[key]
        elif what == "add" and isinstance(holder[key], list):
            holder[key].append(draw(_VALUES))
        elif what == "add" and isinstance(holder[key], dict):
            holder[key][draw(_WORDS)] = draw(_VALUES)
        else:
            holder[key] = draw(_VALUES)
            if key == "":
                document = holder[key]
    return document


@st.composite
def changed_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes with a few of them overwritten, removed or repeated, or cut short."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        size = draw(st.sampled_from([1, 1, 2, 4, 8, 100]))
        what = draw(st.sampled_from(["overwrite", "overwrite", "insert", "remove", "repeat", "cut"]))
        if what == "overwrite":
            new = draw(
                st.binary(min_size=size, max_size=size) | st.sampled_from([b"\xff" * size, b"\0" * size])
            )
            data = data[:at] + new + data[at + size :]
        elif what == "insert":
            data = data[:at] + draw(st.binary(max_size=size)) + data[at:]
        elif what == "remove":
            data = data[:at] + data[at + size :]
        elif what == "repeat":
            data = data[: at + size] + data[at:]
        elif draw(st.integers(0, 3)) == 0:
            data = data[:at]
    return data


# asking


def ask(*words: str | Path) -> None:
    """Any answer is fine that is one: an exit code, at most one error, and nothing that a terminal would obey."""
    answer = asked(*words)
    assert answer.code in (0, 1, 2) and answer.err.count("error: ") <= 1
    assert not NOT_SHOWN & set(answer.out + answer.err)


def tried(action: Callable[[], object]) -> None:
    with contextlib.suppress(TwinrunError):
        action()


# one of each format

LAYOUT = Layout(("batch", "loss", "weights", "metric"), ("x", "loss", "w", "epoch/accuracy"))
FINAL = Layout(("final",), ("w",))
KEY = {"framework": "tensorflow 2.21.0", "device": "cpu", "vector": "avx2", "intra_op_threads": 2}
FACTS = {
    "python": {"version": "3.11.7", "hash_seed": "random"},
    "platform": {"system": "Linux", "machine": "x86_64", "libc": "glibc 2.36"},
    "cpu": {"vector_in_effect": "avx2"},
    "framework": {"name": "tensorflow", "intra_op_threads": 2, "onednn": True},
    "packages": {"installed": {"numpy": "2.0.0", "local": "1"}, "loaded": {"numpy": "2.0.0"}, "origins": {"local": "editable"}},
    "variables": {"OMP_NUM_THREADS": "2", "XLA_FLAGS": "--a --b"},
    "code": {"git": {"commit": "0" * 40, "dirty": False}, "sources": {"train.py": "1"}, "digest": "2"},
    "data": {"x.csv": {"bytes": 3, "digest": "4", "sampled": False}},
}  # fmt: skip
ENVIRONMENT = Environment(FACTS, EnvironmentKey(KEY))


def record(folder: Path, changed_at: int = 99, *, sealed: bool = True) -> Path:
    """A recording with values and a child. Its seal and its checksum are written anew after each change."""
    folder.mkdir(parents=True)
    writer = Writer(folder)
    (folder / "values").mkdir()
    for step in range(1, 21):
        array = np.full(4, step + (step >= changed_at), np.float32)
        digests = pack([step, step + (step >= changed_at), digest_array(array), step])
        writer.write(Frame(step, 1, LAYOUT, digests, ((1, 1 / step),), 0.1))
        text = np.array(["a", "bc"], object)
        write_dump(values_file(folder, step - 1), {("weights", "w"): array, ("batch", "x"): text})
    writer.write(Frame(20, 0, FINAL, pack([7])))
    seal = writer.close()
    about: dict[str, Any] = {
        "environment": ENVIRONMENT.as_json(),
        "controls": {"seed": {"state": 7, "ok": True}},
    }
    status = {"status": "ended", "exit_code": 0, "seal": seal} if sealed else {"status": "running"}
    Manifest("train.py", ("--epochs", "2"), notes=("a note",), **status, **about).write(folder)  # type: ignore[arg-type]
    return folder


def write_manifest(folder: Path, document: Any) -> None:
    if isinstance(document, dict):
        document = {**document, "checksum": checksum(document)}
    (folder / "manifest.json").write_text(json.dumps(document))


def seal_again(folder: Path) -> None:
    document = json.loads((folder / "manifest.json").read_text())
    if document["seal"]:
        document["seal"]["digest"] = digest_of(folder / "steps.sqlite")
        write_manifest(folder, document)


def diff(ours: Path, theirs: Path) -> None:
    for contract in ("bitwise", "ulp=1", "band=loss:0.1"):
        ask("diff", ours, theirs, "--contract", contract)
    ask("diff", ours, theirs, "--output-format", "junit")


@dataclass(frozen=True)
class Format:
    """`make(folder)` prepares a folder, once; `changes` draws what `read(folder, change)` writes into it and reads."""

    make: Callable[[Path], None]
    changes: Callable[[Path], st.SearchStrategy[Any]]
    read: Callable[[Path, Any], None]


def two_recordings(folder: Path) -> None:
    record(folder / "ours")
    record(folder / "sealed", 5)
    record(folder / "running", 5, sealed=False)


def _read_manifest(folder: Path, document: Any) -> None:
    theirs = folder / "sealed"
    write_manifest(theirs, document)
    diff(folder / "ours", theirs)
    ask("env", "show", theirs)
    tried(lambda: from_recording(theirs))


def _read_steps(folder: Path, change: tuple[str, bytes]) -> None:
    theirs, data = folder / change[0], change[1]
    (theirs / "steps.sqlite").write_bytes(data)
    seal_again(theirs)
    diff(folder / "ours", theirs)
    tried(lambda: from_recording(theirs))


def _steps(folder: Path) -> st.SearchStrategy[tuple[str, bytes]]:
    data = (folder / "sealed" / "steps.sqlite").read_bytes()
    return st.tuples(st.sampled_from(["sealed", "running"]), changed_bytes(data))


_COLUMNS = {
    "frames": ("seq", "step", "span", "layout", "rollup", "chain", "digests", "vals", "seconds"),
    "layouts": ("id", "phases", "names"),
    "meta": ("name", "value"),
}
_SQL = (
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.binary(max_size=40) | st.text(max_size=10)
    | _VALUES.map(json.dumps)
)  # fmt: skip


@st.composite
def _cells(draw: st.DrawFn) -> tuple[str, str, str, int, Any]:
    table = draw(st.sampled_from(sorted(_COLUMNS)))
    column = draw(st.sampled_from(_COLUMNS[table]))
    return draw(st.sampled_from(["sealed", "running"])), table, column, draw(st.integers(0, 20)), draw(_SQL)


def _read_cell(folder: Path, change: tuple[str, str, str, int, Any]) -> None:
    which, table, column, row, value = change
    theirs = folder / which
    shutil.copy(folder / "ours" / "steps.sqlite", theirs / "steps.sqlite")
    db = sqlite3.connect(theirs / "steps.sqlite")
    try:
        db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = {row} OR {row} = 20", (value,))
        db.execute("UPDATE frames SET chain = x'0102030405060708' WHERE seq > 4 AND typeof(chain) = 'blob'")
        db.commit()
    except (sqlite3.Error, UnicodeEncodeError):
        return  # SQLite keeps it out
    finally:
        db.close()
    seal_again(theirs)
    diff(folder / "ours", theirs)
    tried(lambda: from_recording(theirs))


def _read_dump(folder: Path, change: bytes) -> None:
    values_file(folder / "sealed", 4).write_bytes(change)
    ask("diff", folder / "ours", folder / "sealed", "--contract", "ulp=1")


@st.composite
def _dumps(draw: st.DrawFn, data: bytes) -> bytes:
    """Most changes of the bytes are noticed by the reader of safetensors: its head is changed as a document, too."""
    if draw(st.booleans()):
        return draw(changed_bytes(data))
    size = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8 : 8 + size])
    if draw(st.booleans()):
        head = draw(changed(head))
    else:
        head["__metadata__"]["tensors"] = json.dumps(
            draw(changed(json.loads(head["__metadata__"]["tensors"])))
        )
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + size :]


CHILD = {"identity": "1", "label": "worker", "pid": 9999999, "pool": False, "unwatched": ""}
END = {"status": "ended", "facts": {"type": "facts", "step": 3, "environment": ENVIRONMENT.as_json(), "notes": ["n"],
       "controls": {}, "inputs": {"paths": ["x"], "changed": [], "fresh": []}, "events": [], "findings": []}}  # fmt: skip
TROUBLE = {"message": "m", "hint": "h", "traceback": "t", "missing_point": None}


def _with_child(folder: Path) -> None:
    for name in ("ours", "sealed"):
        child = record(record(folder / name) / "children" / "1", 99 if name == "ours" else 5)
        (child / "child.json").write_text(json.dumps(CHILD))
        (child / "end.json").write_text(json.dumps(END))


def _read_child(folder: Path, change: tuple[str, Any]) -> None:
    child = folder / "sealed" / "children" / "1"
    (child / "trouble.json").unlink(missing_ok=True)
    for name, document in (("child.json", CHILD), ("end.json", END)):
        (child / name).write_text(json.dumps(document))
    name, document = change
    (child / name).write_text(json.dumps(document))
    diff(folder / "ours", folder / "sealed")


def result_document() -> dict[str, Any]:
    """A result that has everything that a result can have."""
    first = Difference(
        7, "weights", "dense/kernel", others=1, differing=0.25, differing_count=8, size=32, max_ulp=3, max_abs=1.5e-7,
        first_index=(0, 1), first_values=("0.5", "1.0"), note="a note", process="child 1", span=2,
        elements=Elements((8, 4), 1, ("0900",) * 8, ((0, 7), (1, 1))),
    )  # fmt: skip
    finding = Finding(
        "TW105", "unseeded-keras", "m", "train.py", 2, True, ("e",), "- a\n+ b", (SourceLine(2, "x = 1"),)
    )
    control = {
        "state": {"seed": 1},
        "set_by": "program",
        "place": "x:1",
        "ok": False,
        "why_not": "w",
        "how": "h",
    }
    result = CheckResult(
        "train.py", "diverges", "r", "uneven", "ulp=1", 2, 6, first, first,
        growth=tuple(Growth(step, step, 1e-9 * 2**step) for step in range(5, 9)),
        also_differing=("loss: loss",),
        children=(ChildResult("c", "repeats", 3),),
        by_environment=(EnvironmentRuns("k", "diverges", ("A", "B"), ("n",), 6, "r", ("B",), "equal"),),
        streams=(Stream(1, "numpy"),),
        findings=(finding,),
        experiments=(Experiment("w", "o", "repeats", 20, 2.0, "c"),),
        diagnosis=Diagnosis(False, "twinrun check x"),
        conditions=Conditions(stress=True, varied=("clock",)),
        controls={"seed": control},
        varied=("clock",),
        devices=(DeviceUse("cpu", {"CPU:0": 2}), DeviceUse("gpu")),
        environment=ENVIRONMENT.as_json(),
        timing={"seconds": 2.5},
        recordings=("/a/b",),
        notes=("note",),
        output_tail="tail",
        delivered=Delivered("different", 2, "overlay", (OutputDifference("p", "a", "b"),) * 3, ("s",), ("i",)),
        environment_differences=(EnvironmentDifference("python.hash_seed", "g", "s", "1", "2"),),
        timeline=Timeline(
            ("A", "B"), Grid(1, 1, (Row("loss", ".=x"),)), Grid(2, 1, (Row("weights", "=x", "dense", 2),)),
            (Curve("loss", "loss", (1, 2), ((1.0, 0.5), (1.0, None))),), (TensorGrowth("weights", "dense/kernel", (2,), (3,), (1e-7,), (0.5,)),), 1, 2,
        ),
    )  # fmt: skip
    return result.as_json()


def result_documents() -> dict[str, dict[str, Any]]:
    one = result_document()
    baseline = {
        "name": "b",
        "action": "checked",
        "key": "k",
        "store": "s",
        "file": "f",
        "commits": ["c"],
        "history": [{"when": "w"}],
    }
    checked = {**one, "schema": "twinrun/baseline-check/1", "baseline": baseline}
    return {
        "check": one,
        "several": {
            "schema": "twinrun/check-all/1",
            "verdict": "diverges",
            "programs": [{"name": "n", **one}],
        },
        "baseline": checked,
        "baselines": {"schema": "twinrun/baseline-all/1", "programs": [{"program_name": "n", **checked}]},
        "audit": {"schema": "twinrun/audit/1", "findings": one["findings"]},
    }


FORMATS_OF_REPORTS = ("text", "html", "json", "sarif", "junit", "github")


def _read_result(folder: Path, change: tuple[Any, str]) -> None:
    document, output_format = change
    (folder / "result.json").write_text(json.dumps(document))
    ask("report", folder / "result.json", "--output-format", output_format)


def _read_baseline(folder: Path, change: Any) -> None:
    key = ENVIRONMENT.key
    kept = folder / "store" / "kept" / file_of(key)
    kept.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(change, dict):
        change = json.dumps({**change, "checksum": checksum(change)}).encode()
    kept.write_bytes(change if isinstance(change, bytes) else json.dumps(change).encode())
    ask("baseline", "list", "--store", folder / "store")
    store = LocalStore(folder / "store")
    tried(lambda: verbs.check(store, "kept", from_recording(folder / "ours")))
    ask("baseline", "check", "--store", folder / "store", "--name", "kept", "--recording", folder / "ours")


def _baselines(folder: Path) -> st.SearchStrategy[Any]:
    text = as_text(baseline_of("kept", "rtol=1e-3", from_recording(folder / "ours"), "2026-01-01T00:00:00Z"))
    document = {name: value for name, value in json.loads(text).items() if name != "checksum"}
    return changed(document) | changed_bytes(text.encode())


def _read_lock(folder: Path, document: Any) -> None:
    file = folder / "twinrun.lock"
    file.write_text(json.dumps(document))
    for form in ("lock", "requirements"):
        ask("env", "lock", "--from", file, "--format", form, "-o", "-")
    tried(lambda: mismatches(read_lock(file), ENVIRONMENT, {}))


def _read_environment(folder: Path, document: Any) -> None:
    one, other = folder / "one.json", folder / "other.json"
    one.write_text(json.dumps(ENVIRONMENT.as_json()))
    other.write_text(json.dumps(document))
    ask("env", "show", "--all", other)
    for pair in ((one, other), (other, one)):
        ask("env", "diff", "--all", *pair)
    ask("env", "diff", "--output-format", "json", one, other)
    ask("env", "lock", "--from", other, "-o", "-", "--format", "requirements")


def fingerprint_document() -> dict[str, Any]:
    probes = tuple(
        Probe(f"sum{number}", "sums", dtype="float32", shape=(2,), digest=f"{number}", values="AACAPwAAAEA=")
        for number in range(3)
    )
    return Fingerprint(ENVIRONMENT, probes, {"threads": 2}, 1.5).as_json()


def _read_fingerprint(folder: Path, document: Any) -> None:
    one, other = folder / "one.json", folder / "other.json"
    one.write_text(json.dumps(fingerprint_document()))
    with contextlib.suppress(TwinrunError, TypeError):  # as somebody would write it who wants it to be read
        document = {**document, "fingerprint": typed(document, Fingerprint, "x").digest}
    other.write_text(json.dumps(document))
    for words in ((one, other), (other, one), ("--output-format", "json", "--all", one, other)):
        ask("fingerprint", *words)


EPOCH = Epoch(1, (("dense/kernel", "0f"), ("dense/bias", "1e")), {"loss": "0.5"})


def _read_epoch(folder: Path, document: Any) -> None:
    """Of a run in a tracker."""
    for name, text in (("one", EPOCH.as_json()), ("other", json.dumps(document))):
        file = folder / name / EPOCH.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        (folder / name / LAST).write_text("1")
    for words in (("one", "other"), ("other", "one")):
        ask("diff", *(folder / word for word in words))
        ask("diff", "--output-format", "json", *(folder / word for word in words))


SETTINGS = b"""[tool.twinrun]
runs = 2
contract = "rtol=1e-3"
timeout = "90s"
ignore-output = ["time # shows the clock"]
freeze = ["clock"]
vary = ["hashseed", "clock"]
pin = true
[tool.twinrun.check]
steps = 5
[tool.twinrun.programs.one]
program = "nowhere.py"
arguments = ["--epochs", "1"]
baseline = true
[tool.twinrun.programs."\\u001b[31m"]
module = "nowhere"
"""


def _read_settings(folder: Path, change: bytes) -> None:
    before = Path.cwd()
    os.chdir(folder)
    try:
        (folder / "pyproject.toml").write_bytes(change)
        ask("check", "nowhere.py")
        ask("baseline", "check")
        ask("diff", "a", "b")
    finally:
        os.chdir(before)


def _make_deliveries(folder: Path) -> None:
    """What programs leave behind, in the formats that are looked into."""
    with zipfile.ZipFile(folder / "a.npz", "w") as archive:
        archive.writestr("x/y.txt", "text\n" * 20)
    with tarfile.open(folder / "b.tar.gz", "w:gz") as tape:
        tape.add(folder / "a.npz", "a.npz")
    with tarfile.open(folder / "c.tar", "w") as tape:
        tape.add(folder / "a.npz", "a.npz")
    db = sqlite3.connect(folder / "d.db")
    db.executescript(
        "CREATE TABLE t (x, y); INSERT INTO t VALUES (1, 'a'), (2.5, x'00'); CREATE VIEW v AS SELECT * FROM t"
    )
    db.close()
    event = struct.pack("<Q", 20) + bytes(4) + b"\x09" + bytes(19) + bytes(4)
    (folder / "events.out.tfevents.1").write_bytes(event * 3)
    try:
        import h5py
    except ImportError:
        return
    with h5py.File(folder / "e.h5", "w") as file:
        file.create_dataset("x", data=np.arange(6.0))
        file["x"].attrs["unit"] = "m"


@st.composite
def _deliveries(draw: st.DrawFn, folder: Path) -> tuple[str, bytes]:
    name = draw(
        st.sampled_from(sorted(path.name for path in folder.iterdir() if not path.name.startswith("changed")))
    )
    return name, draw(changed_bytes((folder / name).read_bytes()))


def _read_delivery(folder: Path, change: tuple[str, bytes]) -> None:
    name, data = change
    path = folder / f"changed-{name}"
    path.write_bytes(data)
    contents(path)


SOURCE = b'''# -*- coding: utf-8 -*-
import os, random
import numpy as np
import tensorflow as tf

def load(folder="data"):  # twinrun: ignore[TW302] counted
    names = {n for n in os.listdir(folder)}
    return [np.random.rand(3) + hash(n) for n in names]

class Model(tf.keras.Model):
    def call(self, x, *, training=False):
        return tf.nn.dropout(x, 0.5) if training else x

data = tf.data.Dataset.from_tensor_slices(load()).shuffle(9).map(lambda x: x + tf.random.uniform([]), num_parallel_calls=2)
try:
    Model().fit(data, epochs=int(os.environ.get("E", f"{random.random():.0f}")))
except* ValueError as problem:
    print(problem)
'''  # fmt: skip


def _read_source(folder: Path, change: bytes) -> None:
    (folder / "train.py").write_bytes(change)
    ask("audit", "--source-only", folder / "train.py")
    asked("audit", "--source-only", "--fix-diff", folder / "train.py")  # a patch has the bytes of its file


def _nothing(folder: Path) -> None:
    folder.mkdir(exist_ok=True)


FORMATS: dict[str, Format] = {
    "manifest": Format(
        two_recordings,
        lambda folder: changed({k: v for k, v in json.loads((folder / "ours" / "manifest.json").read_text()).items()
                                if k != "checksum"}),
        _read_manifest,
    ),
    "steps": Format(two_recordings, _steps, _read_steps),
    "cells": Format(two_recordings, lambda _: _cells(), _read_cell),
    "dump": Format(two_recordings, lambda folder: _dumps(values_file(folder / "ours", 4).read_bytes()), _read_dump),
    "child": Format(
        _with_child,
        lambda _: st.tuples(st.just("child.json"), changed(CHILD)) | st.tuples(st.just("end.json"), changed(END))
        | st.tuples(st.just("trouble.json"), changed(TROUBLE)),
        _read_child,
    ),
    "result": Format(
        _nothing,
        lambda _: st.tuples(st.one_of(*map(changed, result_documents().values())), st.sampled_from(FORMATS_OF_REPORTS)),
        _read_result,
    ),
    "baseline": Format(_with_child, _baselines, _read_baseline),
    "lock": Format(_nothing, lambda _: changed(json.loads(lock_of(ENVIRONMENT).text())), _read_lock),
    "environment": Format(_nothing, lambda _: changed(ENVIRONMENT.as_json()), _read_environment),
    "fingerprint": Format(_nothing, lambda _: changed(fingerprint_document()), _read_fingerprint),
    "epoch": Format(_nothing, lambda _: changed(json.loads(EPOCH.as_json())), _read_epoch),
    "settings": Format(_nothing, lambda _: changed_bytes(SETTINGS), _read_settings),
    "delivery": Format(_make_deliveries, _deliveries, _read_delivery),
    "source": Format(_nothing, lambda _: changed_bytes(SOURCE), _read_source),
}  # fmt: skip
