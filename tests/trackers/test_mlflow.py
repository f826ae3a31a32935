"""MLflow, with a real tracking server, which is asked over HTTP what it was given."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from installed import needs, path
from tracked_programs import LOOSE, QUICK, trained

from support import environment, twinrun, write

pytestmark = [needs("mlflow"), pytest.mark.usefixtures("tinynet")]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("mlflow"), free_port()
    command = [
        sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
        "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", str(folder / "artifacts"),
    ]  # fmt: skip
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            env=environment(PYTHONPATH=path()),
            cwd=folder,
            start_new_session=True,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 120
        while True:
            assert process.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()
            try:
                urlopen(f"{address}/health", timeout=5).read()
                break
            except (URLError, OSError):
                time.sleep(0.2)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def ask(server: str, what: str, **given: Any) -> dict[str, Any]:
    request = Request(f"{server}/api/2.0/mlflow/{what}", json.dumps(given).encode())
    request.add_header("Content-Type", "application/json")
    with urlopen(request, timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def runs(server: str, wanted: str) -> list[dict[str, Any]]:
    """The newest first."""
    found = ask(server, "runs/search", experiment_ids=["0"], filter=wanted)
    return list(found.get("runs", ()))


def artifact(server: str, run: dict[str, Any], name: str) -> str:
    query = urlencode({"run_uuid": run["info"]["run_id"], "path": name})
    with urlopen(f"{server}/get-artifact?{query}", timeout=30) as answer:
        return str(answer.read().decode())


def test_a_check_becomes_a_run(server: str, tmp_path: Path) -> None:
    write(tmp_path, LOOSE)
    env = {"PYTHONPATH": path(), "MLFLOW_TRACKING_URI": server}
    answer = twinrun(*QUICK, "--mlflow", "train.py", cwd=tmp_path, env=env)
    assert answer.code == 1 and "logged to MLflow: mlflow:" in answer.err, answer.err
    (run,) = runs(server, "tags.\"twinrun.verdict\" = 'diverges'")
    assert run["info"]["status"] == "FINISHED" and run["info"]["run_name"] == "twinrun train.py"
    tags = {tag["key"]: tag["value"] for tag in run["data"]["tags"]}
    assert tags["twinrun.program"] == "train.py" and tags["twinrun.first_difference"].startswith("step ")
    metrics = {metric["key"]: metric["value"] for metric in run["data"]["metrics"]}
    assert metrics["twinrun/exit_code"] == 1.0
    assert any(name.startswith("tensors/") and value > 0 for name, value in metrics.items())
    assert json.loads(artifact(server, run, "twinrun/result.json"))["verdict"] == "diverges"
    assert "diverges" in artifact(server, run, "twinrun/summary.md")
    assert artifact(server, run, "twinrun/report.html").startswith("<!doctype html>")


def test_each_configured_program_becomes_a_run(server: str, tmp_path: Path) -> None:
    write(tmp_path, LOOSE)
    programs = "".join(f'[tool.twinrun.programs.{name}]\nprogram = "train.py"\n' for name in ("one", "two"))
    write(tmp_path, programs, "pyproject.toml")
    env = {"PYTHONPATH": path(), "MLFLOW_TRACKING_URI": server}
    answer = twinrun(*QUICK, "--mlflow", cwd=tmp_path, env=env)
    assert answer.code == 1 and answer.err.count("logged to MLflow: mlflow:") == 2, answer.err
    named = {run["info"]["run_name"]: run["info"]["status"] for run in runs(server, "")}
    assert named["twinrun one"] == named["twinrun two"] == "FINISHED"


def test_a_server_that_is_not_there_costs_a_warning(tmp_path: Path) -> None:
    write(tmp_path, LOOSE)
    nowhere = f"http://127.0.0.1:{free_port()}"
    env = {"PYTHONPATH": path(), "MLFLOW_TRACKING_URI": nowhere}
    answer = twinrun(*QUICK, "--mlflow", "train.py", cwd=tmp_path, env=env)
    assert answer.code == 1 and answer.out.startswith("diverges")
    assert "warning: not logged to MLflow: " in answer.message
    assert f"hint: is there a server at {nowhere}? MLFLOW_TRACKING_URI is its address" in answer.err
    missing = twinrun("diff", "mlflow:1", "mlflow:2", cwd=tmp_path, env=env)
    assert missing.code == 2 and "cannot read mlflow:1: " in missing.message


def test_two_old_runs_are_compared_by_epoch(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    for number in (0, 1):
        answer = trained(tmp_path, number, path(), '"mlflow"')
        assert answer.code == 0 and "warning: " not in answer.err, answer.err
    found = runs(server, "tags.\"twinrun.digest\" != ''")
    assert len(found) == 2
    ids = [f"mlflow:{run['info']['run_id']}" for run in reversed(found)]
    answer = twinrun("diff", *ids, env={"PYTHONPATH": path()})
    assert answer.code == 1 and answer.out.startswith(
        "diverges after epoch 2: variable sequential/dense/kernel differs, everything was equal after epoch 1\n"
    ), answer.out + answer.err
    assert twinrun("diff", ids[0], ids[0], env={"PYTHONPATH": path()}).code == 0
