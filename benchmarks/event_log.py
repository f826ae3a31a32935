"""What the event log adds to a recorded step: the same programs recorded with and without it, in turn, medians of steps.

Two programs: one whose steps draw nothing on the host (the usual case), and one that draws with NumPy for every batch.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from twinrun.launch.check import run_check
from twinrun.launch.options import CheckOptions
from twinrun.launch.program import Program
from twinrun.recording.reader import Reader

ROUNDS = 4
SKIPPED = 50  # steps of warm-up

QUIET = """
import keras, numpy as np
keras.utils.set_random_seed(1)
x, y = np.random.rand(3200, 784).astype("f"), np.random.randint(0, 10, 3200)
model = keras.Sequential([keras.Input((784,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y, batch_size=32, epochs=4, verbose=0)
"""

DRAWING = """
import keras, numpy as np
keras.utils.set_random_seed(1)
x, y = np.random.rand(3200, 784).astype("f"), np.random.randint(0, 10, 3200)
model = keras.Sequential([keras.Input((784,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
for _ in range(400):
    rows = np.random.randint(0, 3200, 32)
    model.train_on_batch(x[rows] + np.random.normal(size=(32, 784)).astype("f"), y[rows])
"""


def step_time(program: Path, events: bool, folder: Path) -> float:
    result = run_check(
        CheckOptions(Program(str(program)), events=events, sequential=True, folder=str(folder))
    )
    assert result.verdict == "repeats", result
    seconds = [
        frame.seconds
        for name in result.recordings
        for frame in list(Reader(Path(name)).frames())[SKIPPED:]
        if frame.span
    ]
    return statistics.median(seconds)


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        for name, text in (("draws nothing", QUIET), ("draws every batch", DRAWING)):
            program = Path(place) / "train.py"
            program.write_text(text)
            ratios = []
            for turn in range(ROUNDS):
                with_log = step_time(program, True, Path(place) / f"{name}-{turn}-with")
                without = step_time(program, False, Path(place) / f"{name}-{turn}-without")
                ratios.append(with_log / without)
            spread = f"{min(ratios):.3f} to {max(ratios):.3f}"
            print(
                f"{name}: with the event log / without: {statistics.median(ratios):.3f} ({spread}, {ROUNDS} rounds)"
            )


if __name__ == "__main__":
    main()
