"""Recorded step time over plain step time on the three workloads, beside what people do today.

python benchmarks/recorded_steps.py [WORKLOAD ROUNDS [ARM...]]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure import HERE, TWINRUN, table

ARMS = {
    "recorded": "recorded by Twinrun",
    "sha256": "weights to NumPy, sha256",
    "checkpoint": "ModelCheckpoint every step",
    "tfdbg2": "tfdbg2, FULL_TENSOR",
}
GOALS = {"mlp": "1.10", "resnet50": "1.02", "transformer": "1.02"}
Times = dict[str, list[list[float]]]


def report(rounds: dict[str, int], arms: Sequence[str] = tuple(ARMS)) -> str:
    rows, sizes = [], []
    for name, count in rounds.items():
        found = measure(name, count, arms)
        times: Times = found["times"]
        step = statistics.median(step for block in times["plain"] for step in block)
        size = f"{found['tensors']} variables, {found['bytes'] / 1e6:.1f} MB"
        sizes.append(f"{name}: {size}; a plain step takes {step * 1000:.2f} ms")
        rows.append([name, GOALS[name], *(_ratios(found, arm) for arm in arms)])
    head = ["workload", "goal", *(ARMS[arm] for arm in arms)]
    return table(head, rows) + "\n\n" + "\n".join(f"- {line}" for line in sizes)


def measure(name: str, rounds: int, arms: Sequence[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        output = Path(place) / "times.json"
        words = [
            "run",
            "--no-progress",
            "--dir",
            f"{place}/run",
            "step_time.py",
            name,
            str(rounds),
            str(output),
        ]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        subprocess.run(
            [*TWINRUN, *words, *arms], check=True, stdout=subprocess.DEVNULL, env=environment, cwd=HERE
        )
        document: dict[str, Any] = json.loads(output.read_text())
        return document


def _ratios(found: dict[str, Any], arm: str) -> str:
    """Medians over the rounds: of the ratio of the rounds' median steps; behind it, of their processor time, which
    a busy machine disturbs less."""
    times: Times = found["times"]
    wall = [
        statistics.median(a) / statistics.median(b) for a, b in zip(times[arm], times["plain"], strict=True)
    ]
    cpu = [a / b for a, b in zip(found["cpu"][arm], found["cpu"]["plain"], strict=True)]
    return f"{statistics.median(wall):.2f} ({statistics.median(cpu):.2f})"


if __name__ == "__main__":
    chosen = (
        {sys.argv[1]: int(sys.argv[2])}
        if len(sys.argv) > 2
        else {"mlp": 30, "resnet50": 15, "transformer": 20}
    )
    print(report(chosen, sys.argv[3:] or tuple(ARMS)))
