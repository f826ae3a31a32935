"""What worker processes use: known though a pool ends them, and frozen for each piece of work, whichever worker gets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import outputs, twinrun, write


def line_of(program: Path, text: str) -> int:
    return next(
        number
        for number, line in enumerate(program.read_text().splitlines(), 1)
        if line.strip() and text in line
    )


pytestmark = pytest.mark.usefixtures("tinynet")

PROGRAM = """
import multiprocessing, os, random
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import tinynet
def work(number):
    return number + {draw}
if __name__ == "__main__":
    tinynet.seed(0)
    with {pool} as pool:
        results = np.array(list(pool.map(work, range(40), chunksize=1)), "f").reshape(-1, 4, 2)
    model = tinynet.Line(2)
    for batch in results:
        model.train_step(batch, np.ones(4))
"""


@pytest.mark.parametrize(
    ("draw", "pool"),
    [
        ("np.random.rand()", 'multiprocessing.get_context("fork").Pool(3)'),
        ("random.random()", 'multiprocessing.get_context("spawn").Pool(2)'),
        ("random.random()", "ProcessPoolExecutor(3)"),
    ],
)
def test_a_draw_of_workers_is_the_cause(draw: str, pool: str, tmp_path: Path) -> None:
    program = write(tmp_path, PROGRAM.format(draw=draw, pool=pool))
    document = twinrun("check", "--output-format", "json", program).document
    assert document["verdict"] == "diverges", document["reason"]
    (finding,) = document["findings"]
    assert (finding["code"], finding["line"], finding["confirmed"]) == (
        "TW205",
        line_of(program, draw),
        True,
    )


@pytest.mark.parametrize(
    "pool",
    ["multiprocessing.Pool(3)", "ProcessPoolExecutor(max_workers=3)", "multiprocessing.Pool(processes=3)"],
)
def test_an_experiment_gives_a_pool_one_worker(pool: str, tmp_path: Path) -> None:
    counted = "print(len({int(pid) for pid in results.flatten()}))\n"
    program = write(tmp_path, PROGRAM.format(draw="os.getpid() - number", pool=pool) + "    " + counted)
    freeze = f"threads.pool:{program}:{line_of(program, pool)}"
    answer = twinrun("check", "--no-diagnose", "--freeze", freeze, "--output-format", "json", program)
    assert outputs(answer.document) == ["1\n", "1\n"]


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
