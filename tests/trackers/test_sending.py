"""A tracker that is missing, broken or slow never costs a verdict."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tracked_programs import LOOSE, QUICK, trained

from support import twinrun, write
from tracker_stand_ins import with_mlflow, with_wandb
from twinrun.comparison.verdict import Growth
from twinrun.publish import send as sending
from twinrun.render.several import CHECKS, as_document
from twinrun.result import CheckResult

pytestmark = pytest.mark.usefixtures("tinynet")


@pytest.mark.skipif(find_spec("mlflow") is not None, reason="mlflow is installed")
def test_a_package_that_is_missing_is_named_before_anything_is_run(tmp_path: Path) -> None:
    write(tmp_path, "open('ran', 'w')\n")
    answer = twinrun("check", "--mlflow", "train.py", cwd=tmp_path)
    assert answer.code == 2 and not (tmp_path / "ran").exists()
    assert answer.message == (
        'error: MLflow is not installed here (no package mlflow)\nhint: pip install "twinrun[mlflow]"\n'
    )


def test_the_verdict_stands_when_a_tracker_fails(tmp_path: Path) -> None:
    write(tmp_path, LOOSE)
    path = with_wandb(tmp_path, "raise ConnectionError('no answer from https://me:hunter2@api.example')")
    saved = ("--output-format", "json", "-o", "result.json")
    answer = twinrun(*QUICK, *saved, "--wandb", "train.py", cwd=tmp_path, env={"PYTHONPATH": path})
    assert answer.code == 1, answer.err
    assert "warning: not logged to Weights & Biases: no answer from https://" in answer.message
    assert "hunter2" not in answer.err and "\nhint: run `wandb login`" in answer.err
    # The result can be logged later; rendering it logs nothing unless that is asked for.
    again = twinrun("report", "--wandb", "result.json", cwd=tmp_path, env={"PYTHONPATH": path})
    assert again.code == 0 and again.out.startswith("diverges") and "warning: not logged" in again.err
    silent = twinrun("report", "result.json", cwd=tmp_path, env={"PYTHONPATH": path, "TWINRUN_WANDB": "1"})
    assert silent.code == 0 and silent.err == ""


def test_a_tracker_that_does_not_answer_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", with_wandb(tmp_path, "import time; time.sleep(600)"))
    monkeypatch.setattr(sending, "_LONGEST", 2.0)
    sending.send(CheckResult("train.py", "repeats").as_json(), {"wandb": ""})
    assert "warning: not logged to Weights & Biases: it gave no answer within 2 s" in capsys.readouterr().err


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a stand-in for MLflow writes down what it is given."""
    monkeypatch.setenv("PYTHONPATH", with_mlflow(tmp_path))
    monkeypatch.setenv("MLFLOW_NOTES", str(tmp_path / "notes"))
    return tmp_path / "notes"


def noted(notes: Path, what: str) -> list[dict[str, Any]]:
    return [note for note in map(json.loads, notes.read_text().splitlines()) if what in note]


def test_each_of_several_programs_becomes_a_run_below_the_same_parent(
    notes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_RUN_ID", "parent")
    results = [(name, CheckResult("train.py", "repeats")) for name in ("one", "two")]
    sending.send(as_document(results, CHECKS), {"mlflow": ""})
    assert capsys.readouterr().err == "".join(
        f"logged to MLflow: mlflow:run{number} at nowhere\n" for number in (1, 2)
    )
    assert noted(notes, "started") == [
        {"started": f"twinrun {name}", "below": "parent"} for name in ("one", "two")
    ]
    assert noted(notes, "ended") == [{"ended": f"run{number}", "status": "FINISHED"} for number in (1, 2)]


def test_metrics_go_to_mlflow_together_and_under_names_that_it_takes(
    notes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [
        "a//b",
        "a/b",
        "/a/b/",
        "a/./b",
        "../../etc/passwd",
        "50 % off?",
        f"x{'y' * 300}",
        f"x{'y' * 301}",
    ]
    growth = [Growth(step, 1, 0.5, name) for step in range(1, 201) for name in names]
    sending.send(CheckResult("train.py", "repeats", growth=tuple(growth)).as_json(), {"mlflow": ""})
    assert (said := capsys.readouterr().err).startswith("logged to MLflow"), said
    batches = [note["metrics"] for note in noted(notes, "metrics")]
    assert [len(batch) for batch in batches] == [1000, 1000, 1000, 203]  # the three are of the whole check
    points = [(name, step) for batch in batches for name, _, step in batch]
    assert len(set(points)) == len(points)  # each has a name to itself
    assert len({name for name, _ in points if name.startswith("distance/")}) == 2 * len(names)


def test_only_checks_can_be_logged(tmp_path: Path) -> None:
    path = with_wandb(tmp_path, "pass")
    write(tmp_path, '{"schema": "twinrun/audit/1", "findings": []}', "audit.json")
    answer = twinrun("report", "--wandb", "audit.json", cwd=tmp_path, env={"PYTHONPATH": path})
    assert answer.code == 2 and "only the result of a check can be logged" in answer.message


@pytest.mark.slow
def test_the_callback_logs_each_epoch_to_the_run_that_there_is(tmp_path: Path) -> None:
    """Over both calls of fit, and nothing that another callback measured."""
    init = """
    from types import SimpleNamespace as Some; import pathlib, sys
    files = pathlib.Path(sys.argv[1]) / "files"
    return Some(dir=str(files), offline=True, summary={}, save=lambda *a, **b: files.joinpath("saved").touch())
"""
    path = with_wandb(tmp_path, init.strip())
    for number in (0, 1):
        answer = trained(tmp_path, number, path)
        assert answer.code == 0 and "warning" not in answer.err, answer.err
    answer = twinrun("diff", tmp_path / "0", tmp_path / "1", cwd=tmp_path)
    assert answer.code == 1 and answer.out.startswith(
        "diverges after epoch 2: variable sequential/dense/kernel differs, everything was equal after epoch 1\n"
    ), answer.out + answer.err
    files = sorted(file.name for file in (tmp_path / "0").rglob("*.json"))
    assert files == ["000000.json", "000001.json", "000002.json", "000003.json"]
    metrics = json.loads(next((tmp_path / "0").rglob("000003.json")).read_text())["metrics"]
    assert [name for name in metrics if "f1" in name] == [
        "f1_score[0]", "f1_score[1]", "val_f1_score[0]", "val_f1_score[1]",
    ]  # fmt: skip
    same = twinrun("diff", tmp_path / "0", tmp_path / "0")
    assert same.out == "repeats: 3 epochs compared, 14 variables and the metrics are equal after each\n"


def test_training_goes_on_without_a_tracker_that_fails(tmp_path: Path) -> None:
    path = with_wandb(tmp_path, "raise ConnectionError('refused')")
    answer = trained(tmp_path, 0, path)
    assert answer.code == 0
    assert answer.err.count("warning: twinrun.EpochDigests could not log to Weights & Biases") == 1
