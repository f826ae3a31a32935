"""When a check looks again: decided by what the twins tell of themselves."""

from __future__ import annotations

import tempfile
from typing import Any

import pytest

from twinrun.launch.second_looks import changed_inputs, lacked, racing, reads_clock, shared_inputs


def twin(**facts: Any) -> dict[str, Any]:
    return facts


def row(kind: str, what: str, seeded: str | None = None, inside: Any = ()) -> dict[str, Any]:
    found = {"kind": kind, "what": what, "file": "/home/u/train.py", "line": 7, "seeded": seeded}
    return {**found, "inside": list(inside)}


def test_a_file_that_was_there_before_the_twins_is_not_shared() -> None:
    assert shared_inputs([twin(inputs=["/data/x.csv"], fresh_inputs=[])] * 2) == []


def test_a_file_written_while_a_twin_ran_and_read_by_it_is_shared_though_the_other_has_not_come_to_it() -> (
    None
):
    read = twin(inputs=["/home/u/best.h5"], fresh_inputs=["/home/u/best.h5"])
    assert shared_inputs([read, twin(inputs=[], fresh_inputs=[])]) == ["/home/u/best.h5"]


def test_a_file_in_a_temporary_folder_is_shared_only_where_both_know_it() -> None:
    mine, ours = f"{tempfile.gettempdir()}/tmp1/x", f"{tempfile.gettempdir()}/cache/x"
    a = twin(inputs=[mine, ours], fresh_inputs=[mine, ours])
    b = twin(inputs=[ours], fresh_inputs=[])
    assert shared_inputs([a, b]) == [ours]


def test_twins_that_told_nothing_share_nothing() -> None:
    assert (shared_inputs([]), shared_inputs([{}, {}]), changed_inputs([{}])) == ([], [], [])


@pytest.mark.parametrize(
    ("found", "read"),
    [
        (row("clock", "time.time"), "time.time is read at train.py:7"),
        (row("date", "date.today"), "date.today is read at train.py:7"),
        (row("clock", "time.perf_counter"), None),  # measures, and tells no time of day
        (row("numpy", "np.random.rand"), None),
    ],
)
def test_only_who_asks_for_the_time_of_day_gets_another(found: dict[str, Any], read: str | None) -> None:
    assert reads_clock([twin(ledger=[found])]) == read


@pytest.mark.parametrize(
    ("found", "races"),
    [
        (row("parallel", "Dataset.map(f)", seeded="False"), True),
        (row("parallel", "Dataset.map(f)", seeded="None", inside=[["tf-random", "f", 1, "uniform"]]), True),
        (row("parallel", "Dataset.map(f)", seeded="None"), False),
        (row("loader", "Rows"), True),
        (row("thread", "work"), True),
        (row("shuffle", "Dataset.shuffle"), False),
    ],
)
def test_only_what_may_race_is_provoked(found: dict[str, Any], races: bool) -> None:
    assert bool(racing([twin(ledger=[]), twin(ledger=[found])])) is races


@pytest.mark.parametrize(
    ("kinds", "text", "shared"),
    [
        (["FileExistsError", "OSError", "Exception"], "[Errno 17] File exists: 'out'", True),
        (["ResourceExhaustedError", "OpError", "Exception"], "OOM when allocating tensor", True),
        (
            ["InvalidArgumentError", "OpError", "Exception"],
            "part-00000 did not exist. NOT_FOUND: c/part",
            True,
        ),
        (["ValueError", "Exception"], "shapes (3,) and (4,) not aligned", False),
        (["KeyError", "LookupError", "Exception"], "'loss'", False),
    ],
)
def test_a_failure_over_what_twins_share_is_told_from_the_programs_own(
    kinds: list[str], text: str, shared: bool
) -> None:
    assert bool(lacked([twin(), twin(failure={"kinds": kinds, "text": text})])) is shared
