"""The ways in which TensorFlow and Keras programs save themselves, each with the hole that it is known for; and
`twinrun.ResumeState`, which has none."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import get_args

import pytest

from support import PROGRAMS, Answer, twinrun
from twinrun.resume.outcome import Part


def resume(folder: Path, program: str, *options: str, arguments: tuple[str, ...] = ()) -> Answer:
    shutil.copytree(PROGRAMS / "resume", folder / "work")
    words = ("resume", "--output-format", "json", *options, folder / "work" / f"{program}.py", *arguments)
    return twinrun(*words, cwd=folder / "work", timeout=3600)


@pytest.mark.parametrize(
    ("program", "at", "resumed", "missing"),
    [
        ("backup_and_restore", 12, 10, {"seeds": "TW701", "data-position": "TW207"}),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                (
                    *("model_checkpoint", 12, 10),
                    {"optimizer": "TW701", "iteration": "TW701", "seeds": "TW701", "data-position": "TW207"},
                ),
                (
                    *("checkpoint", 10, 8),
                    {"optimizer": "TW701", "iteration": "TW701", "seeds": "TW701", "data-position": "TW207"},
                ),
                ("checkpoint_manager", 10, 8, {"seeds": "TW701", "data-position": "TW207"}),
                ("saved_state", 12, 10, {"data-position": "TW207"}),
            )
        ),
    ],
)
def test_each_style_has_its_holes_and_no_others(
    tmp_path: Path, program: str, at: int, resumed: int, missing: dict[str, str]
) -> None:
    answer = resume(tmp_path, program, "--at", str(at))
    found = answer.document
    [stop] = found["stops"]
    first = stop["first_difference"]["step"]
    assert (answer.code, stop["resumed_after"], first) == (1, resumed, resumed + 1), found
    assert [hole["part"] for hole in stop["holes"]] == list(missing), found["findings"]
    assert [finding["code"] for finding in found["findings"]] == [
        missing[part] for part in get_args(Part) if part in missing
    ]
    assert all(finding["fix"] for finding in found["findings"])


@pytest.mark.slow
def test_a_backup_in_the_middle_of_an_epoch_loses_its_metrics(tmp_path: Path) -> None:
    """And the epoch begins again. With batches that are all the same nothing else is lost."""
    arguments = ("every=3", "plain=1")
    answer = resume(tmp_path, "backup_and_restore", "--at", "7", arguments=arguments)
    [stop] = answer.document["stops"]
    assert (answer.code, stop["resumed_after"]) == (1, 6), answer.document
    assert [hole["part"] for hole in stop["holes"]] == ["steps", "metrics"], answer.document["findings"]
    first = stop["first_difference"]
    assert (first["step"], first["phase"]) == (7, "loss")


@pytest.mark.slow
def test_weights_that_are_loaded_after_an_evaluation_are_no_start(tmp_path: Path) -> None:
    """With a seed, what is evaluated is what the uninterrupted run began with."""
    answer = resume(tmp_path, "model_checkpoint", "--at", "12", arguments=("evaluated=1",))
    [stop] = answer.document["stops"]
    assert (stop["outcome"], stop["resumed_after"]) == ("differs", 10), answer.document
    missing = ["optimizer", "iteration", "seeds", "data-position"]
    assert [hole["part"] for hole in stop["holes"]] == missing, answer.document["findings"]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM"])
@pytest.mark.parametrize(
    "program", ["backup_and_restore", "model_checkpoint", "checkpoint", "checkpoint_manager", "saved_state"]
)
def test_each_style_is_equal_with_resume_state_beside_it(tmp_path: Path, program: str, how: str) -> None:
    answer = resume(tmp_path, program, "--at", "7,12", "--signal", how, arguments=("state=1",))
    found = answer.document
    assert (answer.code, found["verdict"]) == (0, "repeats"), found
    after = [4, 12] if program.startswith("checkpoint") else [7, 12]
    assert [(stop["outcome"], stop["resumed_after"]) for stop in found["stops"]] == [
        ("equal", each) for each in after
    ]


def test_resume_state_has_none(tmp_path: Path) -> None:
    answer = resume(tmp_path, "resume_state", "--at", "13", arguments=("every=3",))
    found = answer.document
    assert (answer.code, found["verdict"], found["stops"][0]["resumed_after"]) == (0, "repeats", 12), found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "options"),
    [
        ("resume_state_loop", ["--signal", "SIGTERM", "--at", "4,10,15"]),
        ("resume_state_loop", ["--signal", "SIGKILL", "--at", "7,19"]),
        ("resume_state_loop", ["--at", "save", "--most", "3"]),
    ],
)
def test_resume_state_is_equal_wherever_it_is_stopped(
    tmp_path: Path, program: str, options: list[str]
) -> None:
    answer = resume(tmp_path, program, *options)
    assert (answer.code, answer.document["verdict"]) == (0, "repeats"), answer.document


@pytest.mark.slow
@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL"])
def test_resume_state_is_equal_at_every_step_of_forty(tmp_path: Path, how: str) -> None:
    """Half an hour for both: every stop is three processes that import TensorFlow."""
    steps = list(range(1, 40))
    at = ",".join(map(str, steps))
    answer = resume(tmp_path, "resume_state", "--signal", how, "--at", at, arguments=("epochs=8",))
    found = answer.document
    assert (answer.code, found["verdict"], found["steps"]) == (0, "repeats", 40), found
    assert [(stop["at"], stop["outcome"]) for stop in found["stops"]] == [(step, "equal") for step in steps]
    assert all(stop["resumed_after"] >= stop["at"] - 1 for stop in found["stops"]), found["stops"]


@pytest.mark.slow
def test_resume_state_is_equal_after_a_kill_in_the_middle_of_a_save(tmp_path: Path) -> None:
    half = tmp_path / "half"
    answer = resume(tmp_path, "resume_state", "--at", "save", "--most", "3", arguments=(f"slow={half}",))
    found = answer.document
    assert (answer.code, found["verdict"]) == (0, "repeats"), found
    assert all("saved/.state.npz.partial" in stop["notes"][0] for stop in found["stops"]), found["stops"]
    assert half.read_text().splitlines() == ["half a save"] * 3  # that the restarted program met


@pytest.mark.slow
def test_resume_state_is_equal_where_a_handler_ends_training_early(tmp_path: Path) -> None:
    words = ("--signal", "SIGTERM", "--at", "1,7,13")
    answer = resume(tmp_path, "resume_state", *words, arguments=("every=5", "handler=1"))
    found = answer.document
    assert (answer.code, found["verdict"]) == (0, "repeats"), found
    assert [stop["resumed_after"] - stop["at"] in (0, 1) for stop in found["stops"]] == [True] * 3, found[
        "stops"
    ]
