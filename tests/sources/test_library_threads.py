"""Draws in threads that a library starts, where no line of the program's is on the stack."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import twinrun, write

pytestmark = pytest.mark.usefixtures("tinynet")

# Installed, so that no frame of its threads is the program's. A thread starts another one, as loaders do.
LIBRARY = """
import threading
import numpy as np

def fill(rows):
    def work():
        for number in range(len(rows)):
            rows[number] = np.random.rand(2)
    def feed():
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
    feeder = threading.Thread(target=feed)
    feeder.start()
    feeder.join()
    return rows
"""
PROGRAM = """
import numpy as np
import sys
sys.path.insert(0, "installed/site-packages")
import tinynet
import feeding
tinynet.seed(1)
model = tinynet.Line(2)
for _ in range(3):
    model.train_step(feeding.fill(np.zeros((4, 2))), np.ones(4))
"""


def test_the_line_that_led_to_the_thread_is_the_cause(tmp_path: Path) -> None:
    library = tmp_path / "installed" / "site-packages"
    library.mkdir(parents=True)
    (library / "feeding.py").write_text(LIBRARY)
    program = write(tmp_path, PROGRAM)
    document = twinrun("check", "--output-format", "json", program, cwd=tmp_path).document
    (finding,) = document["findings"]
    line = program.read_text().splitlines()[finding["line"] - 1]
    assert (finding["code"], finding["confirmed"]) == ("TW102", True)
    assert line == "    model.train_step(feeding.fill(np.zeros((4, 2))), np.ones(4))"
