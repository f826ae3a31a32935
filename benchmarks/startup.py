"""How long `twinrun --help` takes, over an interpreter that does nothing."""

from __future__ import annotations

import statistics
import sys

from measure import SCRIPT, calm_ratio, in_turns, ratio, seconds, table

GOALS = {"twinrun --help": "3"}


def report(repetitions: int = 25) -> str:
    arms = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "twinrun --help": [*SCRIPT, "--help"],
        "twinrun check --help": [*SCRIPT, "check", "--help"],
    }
    base = "python -c pass"
    times = in_turns({name: lambda words=words: seconds(words) for name, words in arms.items()}, repetitions)
    rows = [
        [
            f"`{name}`", f"{statistics.median(times[name]) * 1000:.0f} ms", f"{ratio(times, name, base):.2f}",
            f"{calm_ratio(times, name, base):.2f}", GOALS.get(name, ""),
        ]
        for name in arms
    ]  # fmt: skip
    return table(["command", "median", "ratio", "ratio of the fastest", "goal"], rows)


if __name__ == "__main__":
    print(report())
