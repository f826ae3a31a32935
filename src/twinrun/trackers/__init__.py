"""Experiment trackers: MLflow, TensorBoard, Weights & Biases. Each has a module of its name, which alone imports its package,
and makes a `TrackedRun`. This file imports none of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from twinrun.errors import TrackerFailed, UsageError

TITLES = {"mlflow": "MLflow", "tensorboard": "TensorBoard", "wandb": "Weights & Biases"}  # by package


class TrackedRun(Protocol):
    """One run in a tracker, and what can be put there. A tracker that fails raises whatever it likes."""

    def labels(self, values: Mapping[str, str], step: int = 0) -> None:
        """Short texts that a run is found and compared by. Those of a later step replace those of an earlier one."""

    def numbers(self, by_step: Mapping[int, Mapping[str, float]]) -> None:
        """In the order of the steps."""

    def text(self, name: str, markdown: str) -> None: ...

    def file(self, name: str, content: str) -> None: ...

    def end(self, *, complete: bool) -> str:
        """Returns where it can be seen."""


class Tracker(Protocol):
    """What each module here has. `folder` is for those that write to one."""

    def new_run(self, title: str, folder: str | None) -> TrackedRun: ...

    def current_run(self, folder: str | None) -> TrackedRun:
        """The one that the program trains in; one is begun where there is none."""

    def hint(self) -> str:
        """What to do when the tracker fails."""


def tracker(name: str) -> Tracker:
    """The tracker whose package has this name."""
    if name not in TITLES:
        raise UsageError(f"unknown tracker {name!r}", hint=f"one of {', '.join(TITLES)}")
    must_be_installed(name)
    module: Tracker = import_module(f"twinrun.trackers.{name}")
    return module


def must_be_installed(name: str) -> None:
    if find_spec(name) is None:
        raise TrackerFailed(
            f"{TITLES[name]} is not installed here (no package {name})", hint=f'pip install "twinrun[{name}]"'
        )
