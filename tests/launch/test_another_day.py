"""Twins that agree are looked at again: one more twin for each question that another day might answer otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from support import PLAIN, check, write
from twinrun.comparison.contract import BITWISE, parse_contract
from twinrun.comparison.judge import Judge
from twinrun.launch.another_day import on_gpu
from twinrun.protocol import Facts
from twinrun.recording.frame import DEVICE, ROLLED_UP, Frame, Layout, pack

pytestmark = pytest.mark.usefixtures("tinynet")

# Every process that runs the program gets the next number: `mine`. They are counted outside the view of a twin.
COUNTED = """
import os, sys
place = os.path.join(os.environ["TWINRUN_HOME"], sys.argv[-1].replace(os.sep, "-"))
mine = 1
while True:
    try:
        os.close(os.open(f"{place}-{mine}", os.O_CREAT | os.O_EXCL))
        break
    except FileExistsError:
        mine += 1
"""
THREAD = """
import threading
worker = threading.Thread(target=len, args=([],))
worker.start()
worker.join()
"""
CHANGES = """
runs = int(open("runs").read()) if os.path.exists("runs") else 0
open("runs", "w").write(str(runs + 1))
"""
DATE = """
import datetime
today = datetime.date.today().isoformat()
"""


def found(folder: Path, *parts: str, options: tuple[str, ...] = ()) -> tuple[dict[str, Any], int]:
    """The result, and how many processes ran the program."""
    program = write(folder, COUNTED + PLAIN + "".join(dedent(part) for part in parts))
    document = check(program, *options, arguments=[str(folder)], cwd=folder).document
    home, mark = Path(os.environ["TWINRUN_HOME"]), str(folder).replace(os.sep, "-")
    return document, len(list(home.glob(f"{mark}-*")))


@pytest.mark.parametrize("options", [(), ("--sequential",)])
def test_one_more_twin_answers_each_question(tmp_path: Path, options: tuple[str, ...]) -> None:
    document, processes = found(tmp_path, THREAD, CHANGES, DATE, "train(3)\n", options=options)
    assert (document["verdict"], document["steps_compared"]) == ("repeats", 3), document
    # The time of day and the affinity are changed in one twin; the files of the run before are met by another.
    assert processes == 4
    how = ("the files that a run leaves", "the clock of one twin a year ahead", "CPU affinity shuffled")
    assert all(any(each in note for note in document["notes"]) for each in how)


def test_a_file_that_is_named_by_the_date_is_met_though_the_clock_is_moved_too(tmp_path: Path) -> None:
    text = """
        file = f"state-{today}"
        if os.path.exists(file):
            model.weight = model.weight + 1
        open(file, "w").close()
        train(2)
        """
    document, _ = found(tmp_path, DATE, text)
    assert document["verdict"] == "diverges", document
    assert document["conditions"]["carried"] and not document["conditions"]["varied"]


# As a race would: another result in a twin whose affinity is shuffled, from the second step on.
SHUFFLED = """
def another(step, x):
    return x + STRANGE * any(thread.name == "twinrun-stress" for thread in threading.enumerate())
train(4, batch=another)
"""
several_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="no affinity to shuffle")


@several_cores
def test_what_differs_only_under_stress_is_found_with_its_values(tmp_path: Path) -> None:
    document, _ = found(tmp_path, THREAD, SHUFFLED.replace("STRANGE", "1"))
    first = document["first_difference"]
    assert (document["verdict"], first["phase"], first["max_abs"]) == ("diverges", "batch", 1.0), document
    assert document["conditions"]["stress"]


@several_cores
def test_under_a_contract_by_value_the_values_decide(tmp_path: Path) -> None:
    document, _ = found(
        tmp_path, THREAD, SHUFFLED.replace("STRANGE", "1e-6"), options=("--contract", "rtol=1e-3,atol=1e-3")
    )
    assert document["verdict"] == "repeats", document


def test_a_difference_that_does_not_show_again_is_one(tmp_path: Path) -> None:
    document, processes = found(tmp_path, THREAD, "train(3, batch=lambda step, x: x + (mine == 3))\n")
    assert (document["verdict"], processes) == ("diverges", 5), document
    assert document["first_difference"]["phase"] == "batch" and document["conditions"]["stress"]


def test_late_in_a_long_run_the_tensor_that_differs_is_still_named(tmp_path: Path) -> None:
    text = "train(1010, batch=lambda step, x: x + (runs if step == 1005 else 0))\n"
    document, _ = found(tmp_path, CHANGES, text)
    first = document["first_difference"]
    assert (document["verdict"], first["step"], first["tensor"]) == ("diverges", 1005, "x"), document


# Where there is no room for more, one twin also shows what differing output comes from.
TIMED = """
import time
began = time.perf_counter()
TRAIN
with open("times.csv", "w") as file:
    file.write(f"loss,seconds\\n0.5,{time.perf_counter() - began:.9f}\\n")
"""


@pytest.fixture
def two_cores() -> Iterator[None]:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:2])
    yield
    os.sched_setaffinity(0, allowed)


@pytest.mark.usefixtures("two_cores")
def test_the_twin_of_another_day_shows_what_output_comes_from(tmp_path: Path) -> None:
    document, processes = found(tmp_path, THREAD, DATE, TIMED.replace("TRAIN", "train(3)"))
    assert (document["verdict"], processes) == ("repeats", 3), document
    assert document["delivered"]["only_shows"] == ["times.csv, line 2"]
    how = ("the clock of one twin a year ahead", "CPU affinity shuffled")
    assert all(any(each in note for note in document["notes"]) for each in how)


@pytest.mark.usefixtures("two_cores")
def test_a_time_limit_that_only_a_frozen_clock_exceeds_is_no_difference(tmp_path: Path) -> None:
    limited = "train(3 if time.perf_counter() - began < 1.3 else 2)"
    document, processes = found(tmp_path, DATE, "print(today)\n", TIMED.replace("TRAIN", limited))
    # One more with the clock a year ahead, and two for the output.
    assert (document["verdict"], processes) == ("repeats", 6), document


@pytest.mark.usefixtures("two_cores")
@several_cores
def test_a_race_is_one_though_the_clock_of_its_twin_was_frozen(tmp_path: Path) -> None:
    racing = "train(3, batch=lambda step, x: x + (mine == 3))"
    document, _ = found(tmp_path, THREAD, DATE, TIMED.replace("TRAIN", racing))
    assert document["verdict"] == "diverges" and document["conditions"]["stress"], document


# What only a digest for each phase is known of


def frame(*digests: int, phases: tuple[str, ...] = ("batch", "weights", "weights"), kinds: str = "") -> Frame:
    return Frame(7, 1, Layout(phases, tuple("xyz"), kinds), pack(list(digests)))


def held(one: Frame, other: Frame, contract: Any = BITWISE) -> Judge:
    class Silent:
        name, folder = "A", Path()

        def outlines(self, keys: list[Any]) -> list[None]:
            return [None] * len(keys)

        def dump(self, *_: Any) -> None: ...

    witness: Any = Silent()
    judge = Judge(contract, [witness, witness])
    judge.look_rolled_up([one, other], [one.rolled_up(dict(one.rollup())), other.rolled_up()])
    return judge


def test_frames_of_which_only_roll_ups_are_known_are_compared_by_phase() -> None:
    assert held(frame(1, 2, 3), frame(1, 2, 3)).first is None
    first = held(frame(1, 2, 3), frame(1, 2, 4)).first
    assert first is not None and (first.step, first.phase, first.tensor) == (7, "weights", ROLLED_UP)
    unmeasured = held(frame(1, 2, 3), frame(1, 2, 4), parse_contract("rtol=1e-3,atol=1e-3")).unmeasured
    assert unmeasured is not None and unmeasured.kind == "unmeasured"


def test_roll_ups_of_digests_of_different_kinds_are_not_comparable() -> None:
    judge = held(frame(1, 2, 3), frame(1, 2, 3, kinds="hh" + DEVICE))
    assert judge.unmeasured is not None and judge.unmeasured.kind == "not-comparable"


@pytest.mark.parametrize(
    ("devices", "gpu"),
    [({"kind": "gpu"}, True), ({"kind": "cpu"}, False), ("could not read", False), (None, False)],
)
def test_twins_on_a_gpu_are_known(devices: object, gpu: bool) -> None:
    facts = Facts(environment={"facts": {"framework": {"devices": devices}}})
    assert on_gpu([Facts(), facts]) is gpu
