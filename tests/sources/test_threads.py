"""Threads that take turns: one after the other, in the order in which they were started, and none waits for a worker of a
pool, which never ends."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from support import PLAIN, outputs, twinrun, write

pytestmark = pytest.mark.usefixtures("tinynet")

POOLS = 30
PROGRAM = f"""
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
done = []
for number in range({POOLS}):
    with ThreadPoolExecutor(3) if number % 2 else ThreadPool(3) as pool:
        list(pool.map(lambda part: done.append(len(done) == 4 * number + part), range(4)))
print(len(done), all(done))
train(2)
"""


def test_many_pools_take_turns_without_waiting_for_workers_that_have_nothing_to_do(tmp_path: Path) -> None:
    program = write(tmp_path, PLAIN + PROGRAM)
    line = next(n for n, text in enumerate(program.read_text().splitlines(), 1) if "as pool" in text)
    freezes = [word for at in (line, line + 1) for word in ("--freeze", f"threads.start:{program}:{at}")]
    began = time.monotonic()
    answer = twinrun("check", "--no-diagnose", "--output-format", "json", *freezes, program)
    assert answer.document["verdict"] == "repeats", answer.document["reason"]
    assert outputs(answer.document) == [f"{4 * POOLS} True\n"] * 2
    assert (
        time.monotonic() - began < 1.5 * POOLS
    )  # it takes a tenth of that; two seconds for each pool would be more


def test_a_stressed_twin_switches_between_its_threads_more_often_from_the_start(tmp_path: Path) -> None:
    program = write(tmp_path, "import sys\nprint(sys.getswitchinterval())\n" + PLAIN + "train(2)\n")
    answer = twinrun("check", "--stress", "--no-diagnose", "--output-format", "json", program)
    assert [round(float(text), 6) for text in outputs(answer.document)] == [0.005, 0.0001]
