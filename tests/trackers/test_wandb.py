"""Weights & Biases, offline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from installed import needs, path
from tracked_programs import LOOSE, QUICK, trained

from support import twinrun, write

pytestmark = [needs("wandb"), pytest.mark.usefixtures("tinynet")]


def test_a_check_becomes_an_offline_run(tmp_path: Path) -> None:
    write(tmp_path, LOOSE)
    env = {"PYTHONPATH": path(), "WANDB_MODE": "offline", "WANDB_DIR": str(tmp_path)}
    answer = twinrun(*QUICK, "--wandb", "train.py", cwd=tmp_path, env=env)
    assert answer.code == 1, answer.err
    (run,) = (tmp_path / "wandb").glob("offline-run-*")
    assert f"logged to Weights & Biases: {run}\n" in answer.err
    kept = b"".join(file.read_bytes() for file in run.glob("*.wandb"))
    for word in (b"twinrun.verdict", b"twinrun/exit_code", b"tensors/"):
        assert word in kept
    assert json.loads((run / "files" / "twinrun" / "result.json").read_text())["verdict"] == "diverges"
    assert (run / "files" / "twinrun" / "report.html").is_file()


def test_two_offline_runs_are_compared_by_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    found = []
    for number in (0, 1):
        place = tmp_path / f"place{number}"
        place.mkdir()
        monkeypatch.setenv("WANDB_DIR", str(place))
        answer = trained(tmp_path, number, path())
        assert answer.code == 0 and "warning: twinrun" not in answer.err, answer.err
        found += [*(place / "wandb").glob("offline-run-*")]
    answer = twinrun("diff", *found)
    assert answer.code == 1 and answer.out.startswith("diverges after epoch 2"), answer.out + answer.err
