"""Packages of trackers for tests. The `mlflow` refuses what MLflow refuses, and writes down what it is given."""

from __future__ import annotations

import os
from pathlib import Path

from support import write

_PACKAGE = """
import json, os, posixpath, re
from types import SimpleNamespace as Some

_active, _last = [], [0]

def _note(**what):
    with open(os.environ["MLFLOW_NOTES"], "a") as notes:
        notes.write(json.dumps(what) + "\\n")

def get_tracking_uri():
    return "nowhere"

def active_run():
    return _active[-1] if _active else None

def start_run(run_name=None, tags=None):
    if _active:
        raise Exception(f"Run with UUID {_active[-1].info.run_id} is already active.")
    _last[0] += 1
    if "MLFLOW_RUN_ID" in os.environ:
        run = Some(info=Some(run_id=os.environ.pop("MLFLOW_RUN_ID")))
    else:
        run = Some(info=Some(run_id=f"run{_last[0]}"))
        _note(started=run_name, below=(tags or {}).get("mlflow.parentRunId"))
    _active.append(run)
    return run

def end_run(status="FINISHED"):
    os.environ.pop("MLFLOW_RUN_ID", None)
    if _active:
        MlflowClient().set_terminated(_active.pop().info.run_id, status)

class MlflowClient:
    def log_batch(self, run_id, metrics=(), tags=()):
        assert len(metrics) <= 1000, "A batch logging request can contain at most 1000 metrics"
        for name in (metric.key for metric in metrics):
            normal = posixpath.normpath(name)
            assert re.fullmatch(r"[/\\w.\\- :]*", name), f"Invalid metric name: {name}"
            assert normal == name and normal != "." and not normal.startswith(("..", "/")), f"a path: {name}"
            assert len(name) <= 250, f"too long: {name}"
        if metrics:
            _note(run=run_id, metrics=[[metric.key, metric.value, metric.step] for metric in metrics])
    def log_text(self, run_id, text, name):
        pass
    def set_terminated(self, run_id, status):
        _note(ended=run_id, status=status)
"""
_ENTITIES = """
from collections import namedtuple
Metric = namedtuple("Metric", "key value timestamp step")
RunTag = namedtuple("RunTag", "key value")
Run = object
"""


def with_mlflow(folder: Path) -> str:
    """A PYTHONPATH with it. It writes to the file that MLFLOW_NOTES names."""
    return _with(folder, "mlflow", {"__init__.py": _PACKAGE, "entities.py": _ENTITIES})


def with_wandb(folder: Path, init: str) -> str:
    """A PYTHONPATH with a stand-in for W&B whose `init` does this."""
    text = f"run = None\nclass Settings(dict): pass\ndef init(**given):\n    {init}\n"
    return _with(folder, "wandb", {"__init__.py": text})


def _with(folder: Path, name: str, files: dict[str, str]) -> str:
    package = folder / "stand-in" / name
    package.mkdir(parents=True)
    for file, text in files.items():
        write(package, text, file)
    return os.pathsep.join((str(package.parent), os.environ["PYTHONPATH"]))
