"""A program that diverges, and a training that logs digests of its epochs."""

from __future__ import annotations

from pathlib import Path

from support import PLAIN, Answer, python, write

LOOSE = PLAIN + "import os\nmodel.weight += os.getpid()\ntrain(2)\n"
QUICK = ("check", "--no-diagnose", "--follow", "0")
TRAINING = """
import sys
import keras
import numpy as np
import twinrun

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(2), keras.layers.Dense(2)])
model.compile("adam", "mse", metrics=["mae", keras.metrics.F1Score(average=None)])
x, y = np.ones((8, 4), "float32"), np.zeros((8, 2), "float32")
class Timed(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        logs["seconds"] = float(sys.argv[2])
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            self.model.layers[1].kernel.assign_add([[float(sys.argv[2]), 0.0], [0.0, 0.0]])
digests = twinrun.EpochDigests({arguments})
model.fit(x, y, epochs=2, verbose=0, callbacks=[Timed(), digests])
model.fit(x, y, epochs=1, verbose=0, callbacks=[digests], validation_data=(x, y))
"""


def trained(folder: Path, number: int, path: str, arguments: str = '"wandb"') -> Answer:
    """The second run changes a weight at the beginning of its second epoch."""
    write(folder, TRAINING.replace("{arguments}", arguments))
    return python("train.py", str(folder / str(number)), str(number), cwd=folder, PYTHONPATH=path)
