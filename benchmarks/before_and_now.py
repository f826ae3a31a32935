"""What an earlier revision costs beside what this one costs, in turns in one run.

python benchmarks/before_and_now.py REVISION [ROUNDS]

The programs and the way of measuring are those of this revision; Twinrun itself is taken from the source of each.
"""

from __future__ import annotations

import contextlib
import io
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import HERE, in_turns, load_in_words, machine, spread, table, taken_by_others
from recorded_steps import LINES, measure
from whole_check import CLEAN, Case, seconds_of_check, seconds_of_plain_runs

ROOT = HERE.parent
WORKLOADS = {"mlp": 10, "transformer": 6}  # rounds in each process
SECOND_LOOKS = CLEAN[-1]


@contextlib.contextmanager
def source_of(revision: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as place:
        packed = subprocess.run(
            ["git", "archive", revision, "src"], cwd=ROOT, check=True, stdout=subprocess.PIPE
        )
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(place, filter="data")
        yield Path(place) / "src"


def recorded_over_plain(source: Path, workload: str) -> float:
    """Processor time of a recorded step over that of a plain one: the median of the blocks of one process."""
    os.environ["PYTHONPATH"] = str(source)
    [found] = measure(workload, WORKLOADS[workload], ["recorded"], "run")
    return statistics.median(
        a / b for a, b in zip(found["cpu"]["recorded"], found["cpu"]["plain"], strict=True)
    )


def check_over_plain(source: Path, case: Case) -> float:
    os.environ["PYTHONPATH"] = str(source)
    return seconds_of_check(case) / seconds_of_plain_runs(case)


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(str(__doc__))
    revision, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print(f"{machine()}; {load_in_words(taken_by_others())}; {rounds} rounds", flush=True)
    rows = []
    with source_of(revision) as old:
        sources = {"before": old, "now": ROOT / "src"}
        for name in WORKLOADS:
            arms = {
                arm: lambda source=source, name=name: recorded_over_plain(source, name)
                for arm, source in sources.items()
            }
            found = in_turns(arms, rounds)
            rows.append([f"{LINES[name]}: recorded over plain, processor time", *map(spread, found.values())])
        arms = {
            arm: lambda source=source: check_over_plain(source, SECOND_LOOKS)
            for arm, source in sources.items()
        }
        found = in_turns(arms, rounds)
        rows.append([f"{SECOND_LOOKS.what}: check over plain", *map(spread, found.values())])
    print(table(["", f"before ({revision})", "now"], rows))


if __name__ == "__main__":
    main()
