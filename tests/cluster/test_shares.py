"""How the workers of a cluster share the data: every element once, or how many twice and how many never."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import PLAIN, check, twinrun, write
from twinrun.launch.shares import Coverage, _finding
from twinrun.protocol import Event, Facts
from twinrun.protocol.facts import Share
from twinrun.render.said_once import evidence_beside
from twinrun.twin.share import ShareLog

pytestmark = pytest.mark.usefixtures("tinynet")

# Two workers, and 16 elements that all differ.
CLUSTER = """
import json, os
cluster = json.loads(os.environ["TF_CONFIG"])
me, count = cluster["task"]["index"], len(cluster["cluster"]["worker"])
"""
ROWS = (
    CLUSTER
    + PLAIN
    + """
rows = np.arange(32, dtype="f").reshape(16, 2) / 100
def train_on(mine):
    for start in range(0, len(mine), 2):
        model.train_step(mine[start:start + 2], np.ones(len(mine[start:start + 2]), "f"))
"""
)


def findings(folder: Path, text: str) -> list[dict[str, Any]]:
    document = check(write(folder, ROWS + text), "--workers", "2").document
    assert document["verdict"] == "repeats", document
    found: list[dict[str, Any]] = document["findings"]
    return found


@pytest.mark.parametrize(
    ("mine", "message"),
    [
        ("rows[me::count]", None),
        (
            "rows",
            "2 workers do not share the data: of 16 elements 16 are read more than once",
        ),
        (
            "rows[6 * me:10 + 6 * me] if count > 1 else rows",
            "2 workers do not share the data: of 16 elements 4 are read more than once",
        ),
        (
            "rows[me::3] if count > 1 else rows",
            "2 workers do not share the data: of 16 elements 5 are never read",
        ),
    ],
)
def test_shares_that_overlap_or_leave_gaps_are_found(tmp_path: Path, mine: str, message: str | None) -> None:
    found = findings(tmp_path, f"train_on({mine})")
    assert [each["message"] for each in found] == ([] if message is None else [message])
    assert all(each["code"] == "TW602" and each["confirmed"] for each in found)


def sharing_files(folder: Path, listing: str) -> Path:
    """A program whose workers take every other file of a listing."""
    place = folder / "data"
    place.mkdir()
    # Enough of them, and in no order, that the listing is neither that of their names nor the reverse.
    for number in (5, 0, 7, 2, 4, 1, 6, 3):
        np.save(place / f"{number}.npy", np.full((2, 2), number, "f"))
    return write(
        folder,
        ROWS + f"files = {listing}[me::count]\n"
        "train_on(np.concatenate([np.load(f'data/{name}') + np.eye(2) for name in files]))",
    )


def test_shares_that_depend_on_the_order_of_files(tmp_path: Path) -> None:
    program = sharing_files(tmp_path, "os.listdir('data')")
    answer = twinrun("check", "--workers", "2", "--output-format", "json", program, cwd=tmp_path)
    document = answer.document
    assert document["verdict"] == "diverges", document
    (found,) = document["findings"]
    assert (found["code"], found["confirmed"]) == ("TW602", True)
    assert "os.listdir" in program.read_text().splitlines()[found["line"] - 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "code"),
    [(("--workers", "2"), "TW602"), (("--vary", "fileorder"), "TW302")],
    ids=["shares", "order"],
)
def test_files_that_tensorflow_lists(tmp_path: Path, how: tuple[str, str], code: str) -> None:
    program = sharing_files(tmp_path, "tf.io.gfile.listdir('data')")
    text = "import tensorflow as tf\n" + program.read_text()
    program.write_text(text if code == "TW602" else text.replace("[me::count]", "").replace(CLUSTER, ""))
    answer = twinrun("check", *how, "--output-format", "json", program, cwd=tmp_path)
    document = answer.document
    assert document["verdict"] == "diverges", document
    (found,) = document["findings"]
    assert (found["code"], found["confirmed"]) == (code, True), found
    assert "gfile.listdir" in program.read_text().splitlines()[found["line"] - 1]


def test_sorted_files_are_shared_alike_everywhere(tmp_path: Path) -> None:
    program = sharing_files(tmp_path, "sorted(os.listdir('data'))")
    document = check(program, "--workers", "2", cwd=tmp_path).document
    assert (document["verdict"], document["findings"]) == ("repeats", []), document


@pytest.mark.parametrize(
    ("workers", "whole", "fault"),
    [
        ([[1, 2], [3, 4]], [1, 2, 3, 4], ""),
        ([[1, 1, 2], [3]], [1, 1, 2, 3], ""),  # the data itself has it twice
        ([[1, 2], [2, 3]], [1, 2, 3, 4], "of 4 elements 1 are read more than once and 1 are never read"),
        ([[1, 2], [7, 8]], [1, 2, 3, 4], ""),  # others: they cannot be told apart by their values
        ([[1, 2, 1, 2], [3, 4, 3, 4]], [1, 2, 3, 4], ""),  # each its share twice
    ],
)
def test_coverage(workers: list[list[int]], whole: list[int], fault: str) -> None:
    assert Coverage.of([Counter(share) for share in workers], Counter(whole)).fault == fault


def test_every_line_that_shares_the_data_is_shown() -> None:
    """A pipeline that shards, and that a strategy shards once more."""
    calls = {3: "shard", 9: "auto_shard_policy AUTO, which is FILE here"}
    events = [
        Event(source="shards", action="shard", file="train.py", line=line, function="data", call=call)
        for line, call in calls.items()
    ]
    both, one = (
        _finding(Facts(events=known), "not shared", "these read 64, 64", confirmed=True)
        for known in (events, events[:1])
    )
    assert (both.line, one.line) == (3, 3)
    *shown, _ = evidence_beside(both, (), verbose=False)
    assert shown == [
        "shared by shard at train.py:3",
        "shared by auto_shard_policy AUTO, which is FILE here at train.py:9",
    ]
    assert evidence_beside(one, (), verbose=False) == ("confirmed by: these read 64, 64",)


def test_elements_are_known_by_their_rows_whatever_the_batches() -> None:
    x, y = np.arange(24.0).reshape(6, 4), np.array([b"a", b"b", b"c", b"d", b"e", b"f"], object)
    logs = []
    for size in (2, 3):
        log = ShareLog()
        for start in range(0, 6, size):
            log.add([("x", x[start : start + size]), ("y", y[start : start + size])])
        logs.append(log.report())
    replicas = ShareLog()
    replicas.add([("x", x[:3]), ("x/replica_1", x[3:]), ("y", y[:3]), ("y/replica_1", y[3:])])
    assert logs[0] is not None and logs[0] == logs[1] == replicas.report()


def test_only_the_first_pass_counts_and_an_unknown_one_does_not() -> None:
    rows = np.arange(4.0).reshape(4, 1)
    marked, unmarked, odd = ShareLog(), ShareLog(), ShareLog()
    for log in (marked, unmarked):
        for _ in range(2):
            if log is marked:
                log.begin_pass()
            log.add([("x", rows)])
    odd.add([("x", rows), ("scale", np.array(1.0))])
    first = marked.report()
    assert first is not None and len(first.elements) == 8 * 4
    assert [log.report() for log in (unmarked, odd, ShareLog())] == [
        Share(unknown="where a worker's first pass over the data ends was not seen"),
        Share(unknown="a batch does not consist of elements"),
        None,
    ]


def test_so_many_elements_are_not_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twinrun.twin.share._MOST", 4)
    rows = np.arange(12.0).reshape(12, 1)
    one, more = ShareLog(), ShareLog()
    for log, most in ((one, 4), (more, 8)):
        for start in range(0, most, 4):
            log.add([("x", rows[start : start + 4])])
        log.begin_pass()
        log.add([("x", rows[:4])])
    known, unknown = one.report(), more.report()
    assert known is not None and len(known.elements) == 8 * 4
    assert unknown == Share(unknown="a worker reads more than 4 elements")


def test_a_program_that_does_not_run_with_one_worker_is_named_in_the_note(tmp_path: Path) -> None:
    text = "assert count == 2, 'this program is for two workers'\ntrain_on(rows[me::count])\n"
    document = check(write(tmp_path, ROWS + text), "--workers", "2").document
    assert (document["verdict"], document["findings"]) == ("repeats", [])
    (note,) = (note for note in document["notes"] if "not judged" in note)
    assert note.endswith(
        "with one worker, worker 0 ended with exit code 1: AssertionError: this program is for two workers"
    ), note


def test_shares_that_cannot_be_judged_are_said_to_be(tmp_path: Path) -> None:
    text = "for step in range(3):\n    train_on(rows[me::count])\n"
    document = check(write(tmp_path, ROWS + text), "--workers", "2").document
    assert (document["verdict"], document["findings"]) == ("repeats", [])
    (note,) = (note for note in document["notes"] if "not judged" in note)
    assert note.endswith("where a worker's first pass over the data ends was not seen"), note
