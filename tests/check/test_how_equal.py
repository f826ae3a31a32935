"""Contracts from end to end: in a check, one twin after the other, and between recordings."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from support import BY_HAND, FIRST, PLAIN, Answer, check, start, twinrun, write
from twinrun.recording.reader import Reader

pytestmark = pytest.mark.usefixtures("tinynet")

# From step 3 on the weights of one of the twins are a little off.
NUDGED = """
odd = sys.argv[1] == "always" or sys.argv[1] == "first" and first()
def each(step):
    if odd and step == 3:
        NUDGE
train(8, each)
"""
PLAINLY = FIRST + PLAIN + NUDGED.replace("NUDGE", 'model.weight = model.weight + np.array([1e-6, 0], "f")')
IN_TENSORFLOW = FIRST + BY_HAND + NUDGED.replace("NUDGE", "weight.assign(weight + [[1e-6], [0.0]])")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("nudged"), PLAINLY)


def nudged(program: Path, tmp_path: Path, *options: str) -> Answer:
    return check(program, *options, arguments=["first", tmp_path / "marker"])


# checks


@pytest.mark.parametrize("options", [(), ("--sequential",)])
def test_a_difference_within_the_contract_passes_and_is_told(
    program: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    answer = nudged(program, tmp_path, "--contract", "rtol=1e-4", *options)
    found = answer.document
    assert (answer.code, found["verdict"], found["steps_compared"], found["first_difference"]) == (
        0,
        "repeats",
        8,
        None,
    )
    bits = found["first_bit_difference"]
    assert (bits["step"], bits["phase"], bits["tensor"]) == (3, "weights", "model 0")
    assert bits["differing_count"] == 1 and bits["max_abs"] == pytest.approx(1e-6, rel=0.1)
    assert [row["step"] for row in found["growth"]] == [3, 4, 5, 6, 7, 8, 8]  # the last is the final state
    assert all(row["max_abs"] > 0 and row["max_ulp"] >= 1 for row in found["growth"])
    assert states(found)["weights"] == ".==~~~~~~" and states(found, "layers")["model 0"] == "=~~~~~~"
    weight = next(each for each in found["timeline"]["tensors"] if each["tensor"] == "model 0")
    assert weight["steps"] == [3, 4, 5, 6, 7, 8] and all(gap > 0 for gap in weight["max_abs"])


def states(document: dict[str, Any], kind: str = "phases") -> dict[str, str]:
    """What became of each phase, or each layer, in the columns of the timeline."""
    return {row["name"] or row["phase"]: row["states"] for row in document["timeline"][kind]["rows"]}


def test_the_answer_in_words_tells_where_the_bits_part_and_how_far(tmp_path: Path) -> None:
    program = write(tmp_path, IN_TENSORFLOW)
    words = ("check", "--no-diagnose", "--contract", "ulp=100000", program, "first", tmp_path / "marker")
    told = twinrun(*words).out
    assert told.startswith("repeats: 2 runs, 8 steps compared, equal within ulp=100000\n")
    assert "the bits differ from step 3 on (weights: weight)" in told
    assert re.search(r"distance: step 3: \S+, step 4: ", told)


@pytest.mark.parametrize("options", [("--contract", "ulp=2"), ("--sequential",), ("--runs", "3")])
def test_a_difference_beyond_the_contract_is_held_at_its_step(
    program: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    answer = nudged(program, tmp_path, *options)
    found = answer.document
    assert (answer.code, found["verdict"], found["steps_compared"]) == (1, "diverges", 2)
    first = found["first_difference"]
    assert (first["step"], first["phase"], first["tensor"]) == (3, "weights", "model 0")
    assert found["runs"] == len(found["recordings"]) == (3 if "--runs" in options else 2)
    if "--sequential" not in options:
        # The first of two that run in turn keeps no values unless a contract needs them.
        assert first["first_index"] == [0] and first["max_ulp"] > 2
    else:
        assert found["timeline"]["tensors"] == [] and found["timeline"]["unmeasured"] > 0
    # They are followed to the end, which is soon.
    assert states(found)["weights"] == ".==xxxxxx" and states(found)["final"][-1] == "x"
    assert len(found["timeline"]["twins"]) == len(found["timeline"]["curves"][0]["values"])


def test_a_contract_that_breaks_later_than_the_bits_says_both(program: Path, tmp_path: Path) -> None:
    text = PLAINLY.replace("step == 3", "step in (3, 6)").replace("1e-6", "1e-6 if step == 3 else 0.5")
    answer = nudged(write(tmp_path, text), tmp_path, "--contract", "atol=1e-3")
    found = answer.document
    assert (answer.code, found["first_bit_difference"]["step"], found["first_difference"]["step"]) == (
        1,
        3,
        6,
    )
    assert found["steps_compared"] == 5


@pytest.mark.parametrize(
    ("band", "code", "says"),
    [
        ("band=loss:1e-2", 0, None),
        ("band=loss:5%", 0, None),
        ("band=loss:1e-9", 1, "loss ended at"),
        ("band=sharpness:1", 2, "'sharpness', which was never seen (seen: loss)"),
    ],
)
def test_a_band_is_about_where_a_metric_ends(
    program: Path, tmp_path: Path, band: str, code: int, says: str | None
) -> None:
    answer = nudged(program, tmp_path, "--contract", band)
    found = answer.document
    assert answer.code == code and found["contract"] == band
    assert found["reason"] is None if says is None else says in found["reason"]
    assert found["steps_compared"] == 8 and found["first_bit_difference"]["step"] == 3
    assert found["reason_kind"] == {0: None, 1: "outside-band", 2: "unmeasured"}[code]
    assert {row["metric"] for row in found["growth"] if row["metric"] is not None} == {"loss"}
    assert states(found)["weights"] == ".==~~~~~~" and found["timeline"]["tensors"][0]["steps"] == [
        3,
        4,
        5,
        6,
        7,
        8,
    ]


def test_a_check_may_stop_early(program: Path, tmp_path: Path) -> None:
    answer = nudged(program, tmp_path, "--steps", "2")
    assert (answer.code, answer.document["verdict"], answer.document["steps_compared"]) == (0, "repeats", 2)


# recordings


@pytest.fixture(scope="module")
def recorded(program: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same run twice, one that is a little off, and one that was stopped."""
    place = tmp_path_factory.mktemp("recorded")
    for name, kind, options in (
        ("one", "never", ("--keep-values",)),
        ("two", "never", ()),
        ("off", "always", ("--keep-values",)),
        ("stopped", "never", ("--steps", "5")),
    ):
        assert twinrun("run", "--dir", place / name, *options, program, kind, "x").code == 0
    return {name: place / name / "A" for name in ("one", "two", "off", "stopped")}


def diff(a: Path, b: Path, contract: str = "bitwise") -> tuple[int, dict[str, Any]]:
    answer = twinrun("diff", "--output-format", "json", "--contract", contract, a, b)
    return answer.code, answer.document


def test_two_recordings_of_the_same_run_are_equal(recorded: dict[str, Path]) -> None:
    for contract in ("bitwise", "ulp=0", "rtol=0", "band=loss:0"):
        code, found = diff(recorded["one"], recorded["two"], contract)
        assert (code, found["verdict"], found["steps_compared"]) == (0, "repeats", 8)
        assert states(found)["weights"] == ".========" and found["timeline"]["tensors"] == []
    copied = shutil.copytree(recorded["one"], recorded["one"].parent / "copied")
    assert diff(copied, recorded["two"])[0] == 0


def test_recordings_that_differ_are_told_apart_at_the_step(recorded: dict[str, Path]) -> None:
    for pair in ((recorded["one"], recorded["off"]), (recorded["off"], recorded["two"])):
        code, found = diff(*pair)
        assert (code, found["first_difference"]["step"], found["first_difference"]["tensor"]) == (
            1,
            3,
            "model 0",
        )
        assert found["steps_compared"] == 2
        assert states(found)["weights"] == ".==xxxxxx" and found["timeline"]["followed"] == 5


def test_kept_values_decide_a_numeric_contract_and_without_them_it_is_undecided(
    recorded: dict[str, Path],
) -> None:
    code, found = diff(recorded["one"], recorded["off"], "rtol=1e-4")
    assert (code, found["first_bit_difference"]["step"], len(found["growth"])) == (0, 3, 7)
    assert found["timeline"]["tensors"][0]["steps"] == [3, 4, 5, 6, 7, 8]
    assert diff(recorded["one"], recorded["off"], "ulp=1")[1]["first_difference"]["step"] == 3
    code, found = diff(recorded["two"], recorded["off"], "rtol=1e-4")
    assert code == 2 and "--keep-values" in found["reason"]


@pytest.mark.parametrize(
    ("band", "code"),
    [("band=loss:1e-2", 0), ("band=loss:1e-9", 1), ("band=sharpness:1", 2), ("band=loss:1%,x:1", 2)],
)
def test_bands_between_recordings(recorded: dict[str, Path], band: str, code: int) -> None:
    assert diff(recorded["one"], recorded["off"], band)[0] == code
    assert diff(recorded["one"], recorded["two"], band)[0] == (2 if code == 2 else 0)


def test_a_recording_that_was_stopped_is_judged_no_further(recorded: dict[str, Path]) -> None:
    code, found = diff(recorded["one"], recorded["stopped"])
    assert (code, found["steps_compared"]) == (2, 5) and "stopped" in found["reason"]


LONG = (
    PLAIN
    + """
import time, sys
train(10**6, lambda step: time.sleep(float(sys.argv[1])))
"""
)


def test_a_run_can_be_read_while_it_goes_and_after_it_was_killed(tmp_path: Path) -> None:
    program = write(tmp_path, LONG)
    command = start("run", "--dir", tmp_path / "out", program, "0.002")
    folder = tmp_path / "out" / "A"
    try:
        seen = [wait_for(folder, 20), wait_for(folder, 60)]
        code, found = diff(folder, folder)
        assert code == 2 and "still running" in found["reason"] and found["steps_compared"] >= seen[1]
    finally:
        for child in children(command.pid):
            os.kill(child, signal.SIGKILL)
        command.communicate(timeout=90)
    assert command.returncode == 128 + 9
    whole = Reader(folder)
    last = whole.last_step()
    assert last >= seen[1] and [frame.step for frame in whole.frames()][-1] == last
    assert twinrun("run", "--dir", tmp_path / "again", "--steps", "60", program, "0").code == 0
    code, found = diff(tmp_path / "again" / "A", folder)
    assert (code, found["steps_compared"]) == (2, 60)
    assert "was cut off" in found["reason"]


def wait_for(folder: Path, step: int) -> int:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        if (folder / "manifest.json").exists() and (seen := Reader(folder).last_step()) >= step:
            return seen
        time.sleep(0.1)
    raise AssertionError("no step was seen")


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
