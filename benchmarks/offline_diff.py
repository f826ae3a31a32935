"""Offline `diff` of two long recordings: how long it takes, and how that grows with the number of steps."""

from __future__ import annotations

import shutil
import statistics
import struct
import sys
import tempfile
import time
from pathlib import Path

from measure import TWINRUN, seconds, table

from twinrun.recording.frame import Frame, Layout
from twinrun.recording.manifest import Manifest
from twinrun.recording.store import FILE, Writer

TENSORS = 20
LENGTHS = (1_000, 10_000, 100_000, 1_000_000)


def report(repetitions: int = 5) -> str:
    rows = []
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        for steps in LENGTHS:
            written = record(root / f"a{steps}", steps)
            record(root / f"b{steps}", steps)
            record(root / f"c{steps}", steps, differs_at=steps)
            size = (root / f"a{steps}" / FILE).stat().st_size
            times = {
                arm: [
                    _diff(root / f"a{steps}", root / f"{arm}{steps}", arm == "c") for _ in range(repetitions)
                ]
                for arm in "bc"
            }
            equal, last = (statistics.median(times[arm]) for arm in "bc")
            goal = "3 s" if steps == LENGTHS[-1] else ""
            rows.append(
                [
                    f"{steps:,}",
                    f"{equal:.2f} s",
                    f"{last:.2f} s",
                    goal,
                    f"{size / steps:.0f} B",
                    f"{written / steps * 1e6:.0f} µs",
                ]
            )
            for arm in "abc":
                shutil.rmtree(root / f"{arm}{steps}")
    head = ["steps", "equal", "last step differs", "goal", "size a step", "writing a step"]
    return table(head, rows)


def record(folder: Path, steps: int, differs_at: int | None = None) -> float:
    """A recording as a run of this length would leave it. Returns the seconds it took to write."""
    folder.mkdir(parents=True)
    layout = Layout(
        ("batch", "batch", "loss", *["weights"] * (TENSORS - 3)), tuple(f"tensor_{n}" for n in range(TENSORS))
    )
    writer = Writer(folder)
    start = time.perf_counter()
    for step in range(1, steps + 1):
        numbers = [(step * 0x9E3779B97F4A7C15 + n) % 2**64 for n in range(TENSORS)]
        if step == differs_at:
            numbers[-1] ^= 1
        digests = struct.pack(f"<{TENSORS}Q", *numbers)
        writer.write(Frame(step, 1, layout, digests, ((2, 0.5),), 0.001))
    seal = writer.close()
    taken = time.perf_counter() - start
    Manifest("program.py", status="ended", exit_code=0, seal=seal).write(folder)
    return taken


def _diff(a: Path, b: Path, differs: bool) -> float:
    command = [*TWINRUN, "diff", "--quiet", str(a), str(b)]
    if differs:  # exit code 1 is the right answer here
        command = ["sh", "-c", '"$@"; test $? -eq 1', "sh", *command]
    return seconds(command)


if __name__ == "__main__":
    print(report(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
