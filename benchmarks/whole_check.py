"""A whole check, start-up and all, over two plain runs of the same program one after the other."""

from __future__ import annotations

import statistics
import sys
import tempfile

from measure import TWINRUN, calm_ratio, in_turns, ratio, seconds, table

STEPS = {"mlp": 3000, "resnet50": 40, "transformer": 120}


def report(repetitions: int = 5) -> str:
    rows = []
    for name, steps in STEPS.items():
        program = ["program.py", name, str(steps)]
        arms = {"plain": lambda p=program: _plain(p), "check": lambda p=program: _check(p)}
        times = in_turns(arms, repetitions)
        plain, check = (statistics.median(times[arm]) for arm in arms)
        rows.append(
            [name, str(steps), f"{plain:.1f} s", f"{check:.1f} s", f"{ratio(times, 'check', 'plain'):.2f}",
             f"{calm_ratio(times, 'check', 'plain'):.2f}", "1.15"]
        )  # fmt: skip
    return table(
        ["workload", "steps", "two plain runs", "check", "ratio", "ratio of the fastest", "goal"], rows
    )


def _plain(program: list[str]) -> float:
    return sum(seconds([sys.executable, *program]) for _ in range(2))


def _check(program: list[str]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return seconds(
            [*TWINRUN, "check", "--no-diagnose", "--no-progress", "--dir", f"{folder}/check", *program]
        )


if __name__ == "__main__":
    print(report())
