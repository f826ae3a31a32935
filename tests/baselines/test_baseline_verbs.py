"""`twinrun baseline` from end to end, in real processes; with TensorFlow on machines that are played."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from baseline_runs import PROGRAM as IN_TENSORFLOW

from support import PLAIN
from twinrun.cli.options import BaselineVerb
from twinrun.cli.word_order import arranged

pytestmark = pytest.mark.usefixtures("tinynet")

PROGRAM = (
    PLAIN
    + """
import sys
scale = np.float32(sys.argv[1] if len(sys.argv) > 1 else 1.0)
train(4, batch=lambda step, x: x * scale)
"""
)


def twinrun(folder: Path, *words: str, **variables: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, the JSON document, and stderr."""
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_NUM_INTRAOP_THREADS": "2",
        "TWINRUN_HOME": str(folder / ".recordings"),
        **variables,
    }
    command = [sys.executable, "-m", "twinrun", "baseline", *words, "--output-format", "json"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout) if done.stdout.strip() else {}
    return done.returncode, document, done.stderr


def diff(folder: Path, a: str, b: str, contract: str) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "twinrun",
        "diff",
        a,
        b,
        "--contract",
        contract,
        "--output-format",
        "json",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def git(folder: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("project"), PROGRAM)


@pytest.fixture(scope="module")
def in_tensorflow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("project"), IN_TENSORFLOW)


def recorded(folder: Path, program: str) -> Path:
    """A repository with a program and its baseline."""
    (folder / "train.py").write_text(program)
    git(folder, "init", "-q")
    git(folder, "add", "train.py")
    git(folder, "commit", "-qm", "The program")
    code, document, error = twinrun(folder, "record", "train.py", "--name", "mnist")
    assert code == 0, error
    assert document["baseline"]["action"] == "recorded"
    return folder


def only_file(project: Path, part: str = "") -> Path:
    (found,) = (
        path for path in (project / "twinrun-baselines" / "mnist").glob("*.json") if part in path.name
    )
    return found


def test_the_recorded_file_is_small_text_under_the_environment_s_key(in_tensorflow: Path) -> None:
    file = only_file(in_tensorflow, "-2t-")
    assert file.stat().st_size < 12_000
    assert "-cpu-" in file.name and "-2t-det-" in file.name
    assert "epoch/loss" in json.loads(file.read_text())["metrics"]


def test_another_hyper_parameter_diverges_with_step_tensor_file_and_commit_and_accept_repeats(
    project: Path,
) -> None:
    file = only_file(project)
    before = file.read_text()
    (project / "train.py").write_text(PROGRAM.replace("else 1.0", "else 0.5"))
    git(project, "commit", "-qam", "Halve the scale")
    try:
        code, document, _ = twinrun(project, "check", "train.py", "--name", "mnist")
        assert (code, document["verdict"]) == (1, "diverges")
        first = document["first_difference"]
        assert (first["step"], first["phase"], first["tensor"]) == (1, "batch", "x")
        assert document["findings"][0]["code"] == "TW506"
        assert document["findings"][0]["file"] == "train.py"
        assert [line.partition(" ")[2] for line in document["baseline"]["commits"]] == ["Halve the scale"]
        assert any("the program repeats, its result has changed" in note for note in document["notes"])

        reason = "smaller inputs train better"
        code, document, _ = twinrun(
            project, "accept", "--runs", "1", "train.py", "--name", "mnist", "--reason", reason
        )
        assert (code, document["baseline"]["action"]) == (0, "accepted")
        code, document, _ = twinrun(project, "check", "--name", "mnist")  # the program as it was recorded
        assert (code, document["verdict"]) == (0, "repeats")
        assert document["baseline"]["history"][0]["reason"] == reason
    finally:
        (project / "train.py").write_text(PROGRAM)
        git(project, "commit", "-qam", "Back to the old scale")
        file.write_text(before)


@pytest.mark.slow
def test_another_machine_is_undecided_names_the_difference_and_keeps_its_own_baseline(
    in_tensorflow: Path,
) -> None:
    """Played with a weaker instruction set and with another thread count."""
    project = in_tensorflow
    code, document, _ = twinrun(project, "check", "train.py", "--name", "mnist", TF_NUM_INTRAOP_THREADS="1")
    assert (code, document["verdict"]) == (2, "undecided")
    assert [finding["code"] for finding in document["findings"]] == ["TW505"]
    assert "2 against 1" in document["reason"]
    assert document["baseline"]["commands"] == ["twinrun baseline record train.py --name mnist"]

    weak = {"ONEDNN_MAX_CPU_ISA": "SSE41"}
    code, document, _ = twinrun(project, "record", "--runs", "1", "train.py", "--name", "mnist", **weak)
    assert code == 0
    try:
        names = {each.name for each in (project / "twinrun-baselines" / "mnist").glob("*.json")}
        assert len(names) == 2, "they live side by side"
        code, document, _ = twinrun(project, "check", "train.py", "--name", "mnist", **weak)
        assert document["verdict"] == "repeats"
        weak_recording = document["recordings"][0]
        code, document, _ = twinrun(project, "check", "train.py", "--name", "mnist")
        assert (code, document["verdict"], document["steps_compared"]) == (0, "repeats", 4)
        assert document["schema"] == "twinrun/baseline-check/1"
        assert document["findings"] == []
        bitwise, banded = (
            diff(project, weak_recording, document["recordings"][0], c) for c in ("bitwise", "rtol=9")
        )
        assert bitwise["verdict"] == "undecided"
        assert bitwise["reason"].startswith(
            "incomparable bitwise: the instruction set in effect differs (sse4 against"
        )
        assert [finding["code"] for finding in bitwise["findings"]] == ["TW503"]
        assert bitwise["first_difference"] is not None
        assert not banded["reason"].startswith("incomparable")
        strong, weaker = (
            json.loads(only_file(project, part).read_text())["rows"][-1][4] for part in ("avx", "sse4")
        )
        assert strong != weaker, "the two machines really give other bits"
    finally:
        only_file(project, "sse4").unlink()


def test_a_program_that_does_not_repeat_is_not_recorded(project: Path) -> None:
    (project / "loose.py").write_text(PROGRAM.replace("else 1.0", "else np.random.rand()"))
    code, document, error = twinrun(project, "record", "loose.py", "--name", "loose")
    assert (code, document["verdict"]) == (1, "diverges")
    assert "nothing was recorded" in error
    assert not (project / "twinrun-baselines" / "loose").exists()


def test_a_numeric_contract_takes_small_changes_and_a_band_takes_larger_ones(project: Path) -> None:
    contract = "rtol=1e-3,atol=1e-4"
    arguments = ("record", "--runs", "1", "--contract", contract, "train.py", "--name", "near")
    code, document, _ = twinrun(project, *arguments)
    assert code == 0
    recording = document["recordings"][0]
    assert (
        twinrun(project, "record", "--recording", recording, "--name", "band", "--contract", "band=loss:20%")[
            0
        ]
        == 0
    )

    code, document, _ = twinrun(project, "check", "--no-rerun", "--name", "near", "train.py", "1.00001")
    assert (code, document["verdict"], document["contract"]) == (0, "repeats", contract)
    assert document["first_bit_difference"]["tensor"] == "x"

    code, document, _ = twinrun(project, "check", "--no-rerun", "--name", "near", "train.py", "1.01")
    assert (code, document["verdict"]) == (1, "diverges")
    assert any("arguments" in finding["message"] for finding in document["findings"])
    code, document, _ = twinrun(project, "check", "--recording", document["recordings"][0], "--name", "band")
    assert (code, document["verdict"]) == (0, "repeats")


def test_a_program_that_fails_or_does_not_train_is_undecided(project: Path) -> None:
    (project / "broken.py").write_text("raise SystemExit('no data here')\n")
    (project / "idle.py").write_text("print('nothing to train')\n")
    code, document, _ = twinrun(project, "check", "broken.py", "--name", "mnist")
    assert (code, document["verdict"]) == (2, "undecided")
    assert "no data here" in document["output_tail"]
    code, document, _ = twinrun(project, "record", "idle.py", "--name", "idle")
    assert (code, document["verdict"]) == (2, "undecided")
    assert "no training step" in document["reason"]


def test_errors_of_the_user_are_one_line_and_a_hint(project: Path) -> None:
    for words, said in (
        (("check", "train.py", "--name", "../../etc"), "is not a name for a baseline"),
        (("check", "missing.py", "--name", "mnist"), "no such program"),
        (("record", "train.py", "--name", "x", "--contract", "roughly"), "unknown contract"),
    ):
        code, _, error = twinrun(project, *words)
        assert code == 2
        assert error.startswith("error: ") and said in error and "Traceback" not in error


def test_the_list_names_every_baseline_and_every_damaged_file(project: Path) -> None:
    code, document, _ = twinrun(project, "list")
    assert code == 0
    assert {"mnist"} <= {each["name"] for each in document["baselines"]}
    broken = project / "twinrun-baselines" / "mnist" / "broken-000000000000.json"
    broken.write_text("{")
    try:
        code, document, _ = twinrun(project, "list", "mnist")
        assert code == 2
        assert [each["file"] for each in document["baselines"] if each["problem"]] == [broken.name]
    finally:
        broken.unlink()


VALUED = {"--name", "--reason", "--store", "--contract", "--output-format", "--steps", "--pin", "-m"}


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("train.py --name a", "--name a train.py"),
        ("train.py --name=a --epochs 3", "--name=a train.py --epochs 3"),
        ("--name a train.py --name b", "--name a train.py --name b"),
        ("--steps 3 train.py --epochs 2 --name a", "--steps 3 --name a train.py --epochs 2"),
        ("train.py -- --name b", "train.py --name b"),
        ("train.py --name a -- --name b", "--name a train.py --name b"),
        ("-m pkg.train --name a --lr 1", "--name a -m pkg.train -- --lr 1"),
        ("--pin train.py --name a", "--pin=default --name a train.py"),
        ("--pin=3 train.py --reason r", "--pin=3 --reason r train.py"),
        ("train.py --steps 3 --name a", "--name a train.py --steps 3"),
        ("", ""),
    ],
)
def test_our_options_may_follow_the_program_and_the_program_s_own_stay_its_own(given: str, seen: str) -> None:
    assert arranged(given.split(), VALUED, BaselineVerb.late) == seen.split()
