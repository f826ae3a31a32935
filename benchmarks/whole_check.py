"""A whole check, start-up and all: of programs that only train, over two plain runs one after the other; of one that gives
reason for second looks, and of one that diverges and is diagnosed, over one plain run.

python benchmarks/whole_check.py [PROGRAM REPETITIONS]
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from figures import Row
from measure import HERE, TWINRUN, calm_ratio, in_turns, ratios, seconds, spread, table

PROGRAMS = HERE / "programs"


@dataclass(frozen=True)
class Case:
    """A program, the plain runs that its check is compared with, and whether it diverges."""

    what: str
    words: tuple[str, ...]
    goal: str = ""
    runs: int = 1
    diverges: bool = False


TRAINED = {"mlp": 3000, "resnet50": 40, "transformer": 120}
CLEAN = [
    *(
        Case(f"{name}, {steps} steps", (f"{HERE}/program.py", name, str(steps)), "1.15", runs=2)
        for name, steps in TRAINED.items()
    ),
    Case("writes files, uses threads, prints the date", ("second_looks.py",), "3"),
]
DIAGNOSED = [Case("no seed is set", ("unseeded.py",), diverges=True)]


def rows(cases: Sequence[Case] = CLEAN, repetitions: int = 5) -> list[Row]:
    return [_row(case, repetitions) for case in cases]


def diagnosis_rows() -> list[Row]:
    """A check of a program that diverges, with its diagnosis."""
    return rows(DIAGNOSED, 3)


def _row(case: Case, repetitions: int) -> Row:
    arms = {"plain": lambda: seconds_of_plain_runs(case), "check": lambda: seconds_of_check(case)}
    times = in_turns(arms, repetitions)
    plain, check = (statistics.median(times[arm]) for arm in arms)
    cells = {
        "plain runs": f"{case.runs}: {plain:.1f} s",
        "check": f"{check:.1f} s",
        "check over plain": spread(ratios(times, "check", "plain")),
        "of the fastest": f"{calm_ratio(times, 'check', 'plain'):.2f}",
        "goal": case.goal,
    }
    return Row(case.what, cells)


def seconds_of_plain_runs(case: Case) -> float:
    return sum(_seconds([sys.executable], case) for _ in range(case.runs))


def seconds_of_check(case: Case) -> float:
    with tempfile.TemporaryDirectory() as recordings:
        diagnosis = [] if case.diverges else ["--no-diagnose"]
        words = [*TWINRUN, "check", "--no-progress", *diagnosis, "--dir", f"{recordings}/check"]
        expected = ["sh", "-c", f'"$@"; test $? -eq {int(case.diverges)}', "sh"]
        return _seconds([*expected, *words], case)


def _seconds(command: list[str], case: Case) -> float:
    """In a folder that holds nothing but the program: it may write."""
    with tempfile.TemporaryDirectory() as place:
        if not Path(case.words[0]).is_absolute():
            shutil.copy(PROGRAMS / case.words[0], place)
        return seconds([*command, *case.words], cwd=Path(place), CUDA_VISIBLE_DEVICES="-1")


def main() -> None:
    cases = [*CLEAN, *DIAGNOSED]
    if len(sys.argv) > 2:
        found = rows([case for case in cases if sys.argv[1] in case.words], int(sys.argv[2]))
    else:
        found = [*rows(), *diagnosis_rows()]
    for row in found:
        print(table(["", *row.cells], [[row.name, *row.cells.values()]]))


if __name__ == "__main__":
    main()
