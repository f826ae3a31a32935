"""Runs in MLflow. Which server and which experiment is up to MLflow and its MLFLOW_* variables."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import mlflow
import xxhash
from mlflow import MlflowClient
from mlflow.entities import Metric, Run, RunTag

# Of metrics: what MLflow refuses. A name may also become a path on the server, and must then stay the name that it is.
_NOT_IN_NAMES = re.compile(r"[^\w\-./ :]|(?<=\.)\.")
_LONGEST_NAME = 250
_MOST_METRICS = 1000  # in one request
# Left to itself, MLflow asks a server that does not answer for several minutes.
_PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}


class MLflowRun:
    def __init__(self, run: Run) -> None:
        self._client = MlflowClient()
        self._run = run.info
        self._names: dict[str, str] = {}  # of metrics, by those that MLflow takes

    def labels(self, values: Mapping[str, str], step: int = 0) -> None:
        tags = [RunTag(name, value) for name, value in values.items()]
        self._client.log_batch(self._run.run_id, tags=tags)

    def numbers(self, by_step: Mapping[int, Mapping[str, float]]) -> None:
        now = int(time.time() * 1000)
        metrics = [
            Metric(self._allowed(name), value, now, step)
            for step, values in by_step.items()
            for name, value in values.items()
        ]
        for start in range(0, len(metrics), _MOST_METRICS):
            self._client.log_batch(self._run.run_id, metrics=metrics[start : start + _MOST_METRICS])

    def text(self, name: str, markdown: str) -> None:
        self.file(f"{name}.md", markdown)

    def file(self, name: str, content: str) -> None:
        self._client.log_text(self._run.run_id, content, name)

    def end(self, *, complete: bool) -> str:
        status = "FINISHED" if complete else "FAILED"
        active = mlflow.active_run()
        if active is not None and active.info.run_id == self._run.run_id:
            mlflow.end_run(status)  # no other run can be started while it is active
        else:
            self._client.set_terminated(self._run.run_id, status)
        return f"mlflow:{self._run.run_id} at {mlflow.get_tracking_uri()}"

    def _allowed(self, name: str) -> str:
        """A name that MLflow takes. Two names never become one."""
        wanted = allowed = _legal(name)
        number = 1
        while self._names.setdefault(allowed, name) != name:
            number += 1
            allowed = f"{wanted[: _LONGEST_NAME - 8]}_{number}"
        return allowed


def _legal(name: str) -> str:
    parts = (part for part in _NOT_IN_NAMES.sub("_", name).split("/") if part not in ("", "."))
    legal = "/".join(parts) or "_"
    if len(legal) <= _LONGEST_NAME:
        return legal
    # Where the tensor is stands at the beginning, and what was measured at the end.
    return f"{legal[:116]}_{xxhash.xxh3_64_hexdigest(name.encode())}_{legal[-116:]}"


def new_run(title: str, folder: str | None = None) -> MLflowRun:
    """Below the run that MLFLOW_RUN_ID names, where it names one."""
    _wait_no_longer()
    parent = _parent()
    tags = {"mlflow.parentRunId": parent} if parent else None
    return MLflowRun(mlflow.start_run(run_name=title, tags=tags))


@cache
def _parent() -> str | None:
    """Asked for before the first run of ours: left in the environment, MLflow would take it for the run to go on with."""
    return os.environ.pop("MLFLOW_RUN_ID", None)


def current_run(folder: str | None = None) -> MLflowRun:
    return MLflowRun(mlflow.active_run() or mlflow.start_run())


def fetch(run_id: str, files: str, folder: Path) -> Path | None:
    """Copies these files of a run, a folder of its artifacts, into `folder`, and returns where they are. None: it has none."""
    _wait_no_longer()
    client = MlflowClient()
    client.get_run(run_id)  # raises for one that there is not
    if not client.list_artifacts(run_id, files):
        return None
    return Path(client.download_artifacts(run_id, files, str(folder)))


def hint() -> str:
    return f"is there a server at {mlflow.get_tracking_uri()}? MLFLOW_TRACKING_URI is its address"


def _wait_no_longer() -> None:
    """Shorten MLflow's retries in a process of our own, unless the user has set them."""
    for name, value in _PATIENCE.items():
        os.environ.setdefault(name, value)
