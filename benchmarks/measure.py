"""What the benchmarks share: running commands, and medians of ratios taken side by side."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
TWINRUN = [sys.executable, "-m", "twinrun"]
SCRIPT = str(Path(sys.executable).parent / "twinrun")  # what a user calls


def seconds(command: Sequence[str], **extra: str) -> float:
    """Wall time of a command that must succeed."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **extra}
    start = time.perf_counter()
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, cwd=HERE
    )
    return time.perf_counter() - start


def in_turns(arms: Mapping[str, Callable[[], float]], repetitions: int) -> dict[str, list[float]]:
    """Every arm once in each round, so that other load on the machine reaches them all."""
    times: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(repetitions):
        for name, measure in arms.items():
            times[name].append(measure())
    return times


def ratio(times: Mapping[str, Sequence[float]], arm: str, base: str) -> float:
    """The median of the ratios of each round."""
    return statistics.median(a / b for a, b in zip(times[arm], times[base], strict=True))


def calm_ratio(times: Mapping[str, Sequence[float]], arm: str, base: str) -> float:
    """The ratio of the fastest rounds: what the arms need on an idle machine."""
    return min(times[arm]) / min(times[base])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)
