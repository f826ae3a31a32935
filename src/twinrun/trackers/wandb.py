"""Runs in Weights & Biases. Project, folder, and whether it is offline are up to W&B and its WANDB_* variables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import wandb


class WandbRun:
    def __init__(self, run: Any) -> None:
        self._run = run

    def labels(self, values: Mapping[str, str], step: int = 0) -> None:
        self._run.summary.update(dict(values))

    def numbers(self, by_step: Mapping[int, Mapping[str, float]]) -> None:
        for step, values in by_step.items():
            self._run.log(dict(values), step=step)

    def text(self, name: str, markdown: str) -> None:
        self.file(f"{name}.md", markdown)

    def file(self, name: str, content: str) -> None:
        """W&B uploads what lies in the folder of its run, or keeps it there where it is offline."""
        path = Path(self._run.dir) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        self._run.save(str(path), base_path=self._run.dir, policy="now")

    def end(self, *, complete: bool) -> str:
        place = self._run.url if not self._run.offline else str(Path(self._run.dir).parent)
        self._run.finish(exit_code=0 if complete else 1)
        return str(place)


def new_run(title: str, folder: str | None = None) -> WandbRun:
    quiet = wandb.Settings(
        console="off", silent=True, init_timeout=30, disable_code=True, x_disable_stats=True
    )
    return WandbRun(wandb.init(name=title, job_type="twinrun", settings=quiet))


def current_run(folder: str | None = None) -> WandbRun:
    return WandbRun(wandb.run or wandb.init())


def hint() -> str:
    return "run `wandb login`, or set WANDB_MODE=offline, which needs neither a login nor a network"
