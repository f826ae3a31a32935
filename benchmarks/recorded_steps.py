"""Watched step time over plain step time, beside what people do today.

python benchmarks/recorded_steps.py [WORKLOAD ROUNDS [ARM...]]

Two processes for each workload: one that `twinrun run` records, and the two twins of a `twinrun check`, which wait for each
other at every step. In each of them watched and plain steps take turns.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from figures import Row
from measure import TWINRUN, gpus, run, spread, table

ARMS = {
    "recorded": "recorded",
    "lockstep": "in lockstep",
    "host": "recorded, all brought to the host",
    "sha256": "weights to NumPy, sha256",
    "checkpoint": "ModelCheckpoint every step",
    "tfdbg2": "tfdbg2, FULL_TENSOR",
}
# Rounds of each workload, and what is measured there.
ON_HOST = {"mlp": 30, "resnet50": 15, "transformer": 20}
ON_GPU = {"decoder": 8, "billion": 4}
USUAL = ("recorded", "lockstep", "sha256", "checkpoint", "tfdbg2")
USUAL_ON_GPU = ("recorded", "host", "sha256")
LINES = {
    "mlp": "MLP 784-128-10, batch 32",
    "resnet50": "ResNet50, 64×64, batch 16",
    "transformer": "transformer, 4 layers, d=256",
    "decoder": "transformer of 92 million weights, GPU",
    "billion": "transformer of 1 billion weights, GPU",
}
GOALS = {"mlp": "1.10", "resnet50": "1.02", "transformer": "1.02", "decoder": "1.05", "billion": "1.10"}
Measured = dict[str, Any]


def rows() -> list[Row]:
    """Of every workload that can be measured here."""
    found = [row(name, rounds, USUAL) for name, rounds in ON_HOST.items()]
    if gpus():
        found += [row(name, rounds, USUAL_ON_GPU) for name, rounds in ON_GPU.items()]
    return found


def row(name: str, rounds: int, arms: Sequence[str]) -> Row:
    recorded = [arm for arm in arms if arm != "lockstep"]
    [alone] = measure(name, rounds, recorded, "run") if recorded else [None]
    twins = measure(name, rounds, ["recorded"], "check") if "lockstep" in arms else []
    shown = alone or twins[0]
    plain = statistics.median(step for block in shown["times"]["plain"] for step in block)
    size = f"{shown['tensors']} variables, {shown['bytes'] / 1e6:.3g} MB"
    cells = {"a plain step": f"{plain * 1000:.3g} ms ({size})", "goal": GOALS[name]}
    for arm in arms:
        cells[ARMS[arm]] = ratios_of(twins, "recorded") if arm == "lockstep" else ratios_of([alone], arm)
    return Row(LINES[name], cells)


def measure(name: str, rounds: int, arms: Sequence[str], verb: str) -> list[Measured]:
    """Of each process that a recorded run, or a check, consists of."""
    with tempfile.TemporaryDirectory() as place:
        output = Path(place) / "times"
        output.mkdir()
        options = ["--no-diagnose"] if verb == "check" else []
        words = [*TWINRUN, verb, "--no-progress", *options, "--dir", f"{place}/recordings"]
        program = ["step_time.py", name, str(rounds), str(output), *arms]
        run([*words, *program], **({} if name in ON_GPU else {"CUDA_VISIBLE_DEVICES": "-1"}))
        # A check may have looked again, by twins that started later.
        files = sorted(output.iterdir())[: 2 if verb == "check" else 1]
        return [json.loads(file.read_text()) for file in files]


def ratios_of(found: Sequence[Measured], arm: str) -> str:
    """Of the rounds' median steps; behind it the median of those of their processor time, which a busy machine
    disturbs less."""
    wall = [
        statistics.median(a) / statistics.median(b)
        for each in found
        for a, b in zip(each["times"][arm], each["times"]["plain"], strict=True)
    ]
    cpu = [a / b for each in found for a, b in zip(each["cpu"][arm], each["cpu"]["plain"], strict=True)]
    return f"{spread(wall)}, processor {statistics.median(cpu):.2f}"


def main() -> None:
    if len(sys.argv) > 2:
        name = sys.argv[1]
        usual = USUAL_ON_GPU if name in ON_GPU else USUAL
        found = [row(name, int(sys.argv[2]), sys.argv[3:] or usual)]
    else:
        found = rows()
    for each in found:
        print(table(["", *each.cells], [[each.name, *each.cells.values()]]))


if __name__ == "__main__":
    main()
