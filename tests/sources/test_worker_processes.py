"""What worker processes use: known though a pool ends them, and frozen for each piece of work, whichever worker gets it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support import twinrun, write

pytestmark = pytest.mark.usefixtures("tinynet")

PROGRAM = """
import multiprocessing, os, random, time
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import tinynet
random.seed(0)
np.random.seed(0)
tinynet.seed(0)
RNG = np.random.default_rng(0)
def work(number):
    time.sleep(0.001 * (os.getpid() * (number + 1) % 3))  # another worker gets the next piece in every run
    return number + {draw}
if __name__ == "__main__":
    with {pool} as pool:
        results = np.array(list(pool.map(work, range(40), chunksize=1)), "f").reshape(-1, 4, 2)
    model = tinynet.Line(2)
    for batch in results:
        model.train_step(batch, np.ones(4))
"""


def cause(folder: Path, draw: str, pool: str) -> tuple[str, str, bool]:
    """Code, line and confirmation of the one finding."""
    program = write(folder, PROGRAM.format(draw=draw, pool=pool))
    document: dict[str, Any] = twinrun("check", "--output-format", "json", program).document
    assert document["verdict"] == "diverges", document["reason"]
    (finding,) = document["findings"]
    return (
        finding["code"],
        program.read_text().splitlines()[finding["line"] - 1].strip(),
        finding["confirmed"],
    )


@pytest.mark.parametrize(
    ("draw", "pool"),
    [
        ("np.random.rand()", 'multiprocessing.get_context("fork").Pool(3)'),
        ("random.random()", 'multiprocessing.get_context("spawn").Pool(2)'),
        ("random.random()", "ProcessPoolExecutor(3)"),
    ],
)
def test_a_draw_of_workers_is_the_cause_though_the_program_seeds_its_streams(
    draw: str, pool: str, tmp_path: Path
) -> None:
    assert cause(tmp_path, draw, pool) == ("TW205", f"return number + {draw}", True)


def test_a_generator_that_workers_keep_is_found_by_an_experiment_with_one_worker(tmp_path: Path) -> None:
    pool = "ProcessPoolExecutor(max_workers=3)"
    assert cause(tmp_path, "RNG.random()", pool) == ("TW205", f"with {pool} as pool:", True)


def test_workers_that_draw_from_generators_of_their_work_repeat(tmp_path: Path) -> None:
    pool = "multiprocessing.Pool(3)"
    program = write(tmp_path, PROGRAM.format(draw="np.random.default_rng([1, number]).random()", pool=pool))
    document = twinrun("check", "--output-format", "json", program).document
    assert document["verdict"] == "repeats", document["reason"]


def test_a_worker_that_inherits_a_framework_and_does_nothing_with_it_has_not_trained(tmp_path: Path) -> None:
    pool = "multiprocessing.Pool(3)"
    program = write(tmp_path, PROGRAM.format(draw="0", pool=pool))
    document = twinrun("check", "--output-format", "json", program).document
    assert (document["verdict"], document["children"]) == ("repeats", [])
