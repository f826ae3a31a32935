"""One check of very many steps: what it costs in time, on disk, and in memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from support import Answer, python, start, write

PROGRAM = """
import os, resource, sys
import numpy as np
import tinynet
tinynet.seed(1)
x, y = np.linspace(0, 1, 12).reshape(4, 3), np.ones(4)
model = tinynet.Line(3)
steps, places = int(sys.argv[1]), sys.argv[2]
for step in range(steps):
    model.train_step(x, y)
    if step in (steps // 10, steps - 1):
        with open(os.path.join(places, f"{os.getpid()}-{step}"), "w") as file:
            file.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
"""


@pytest.mark.hard
def test_long_run(
    pytestconfig: pytest.Config, tmp_path: Path, tinynet: dict[str, str | None], figures: Any
) -> None:
    steps = pytestconfig.getoption("--long")
    places, plain, folder = (tmp_path / name for name in ("memory", "plain", "out"))
    for each in (places, plain, tmp_path / "program"):
        each.mkdir()
    program = write(tmp_path / "program", PROGRAM)
    began = time.monotonic()
    assert python(program, str(steps), plain, **tinynet).code == 0
    alone = time.monotonic() - began
    began = time.monotonic()
    command = start(
        "check",
        "--no-diagnose",
        "--output-format",
        "json",
        "--dir",
        folder,
        program,
        str(steps),
        places,
        env=tinynet,
    )
    memory = [0]
    process = psutil.Process(command.pid)
    while command.poll() is None:
        memory.append(_memory(process))
        time.sleep(0.5)
    took = time.monotonic() - began
    out, err = command.communicate()
    answer = Answer(command.returncode, out, err)
    assert answer.code == 0, out + err
    assert answer.document["steps_compared"] == steps
    sizes = {name: sum(f.stat().st_size for f in (folder / name).rglob("*") if f.is_file()) for name in "AB"}
    first, last = (
        max(int(file.read_text()) for file in places.glob(f"*-{step}")) for step in (steps // 10, steps - 1)
    )
    known = [value for value in memory if value]
    figures(
        steps=steps, seconds=round(took, 1), seconds_plain=round(alone, 1),
        microseconds_a_step=round(took / steps * 1e6), bytes_a_step=round(max(sizes.values()) / steps, 1),
        recording_mb=round(max(sizes.values()) / 1e6, 1), parent_mb=round(max(known) / 1e6, 1),
        parent_growth_mb=round((known[-1] - known[len(known) // 10]) / 1e6, 1),
        twin_mb=round(last / 1e3, 1), twin_growth_mb=round((last - first) / 1e3, 1),
    )  # fmt: skip


def _memory(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0
