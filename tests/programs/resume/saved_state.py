"""The whole state as a tree of arrays, one folder a step, as Orbax keeps it: every variable, and not the data."""

import os
import pathlib

import keras
import numpy as np
from common import EPOCHS, model, resumable


class Save(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        arrays = [np.asarray(variable) for variable in variables(self.model)]
        np.savez("state.partial.npz", *arrays, epoch=epoch + 1)
        pathlib.Path("saved").mkdir(exist_ok=True)
        os.replace("state.partial.npz", f"saved/{epoch + 1}.npz")


def variables(network):
    return [*network.variables, *network.optimizer.variables]


network, epoch = model(), 0
network.optimizer.build(network.trainable_variables)
for file in sorted(pathlib.Path("saved").glob("*.npz"))[-1:]:
    with np.load(file) as held:
        epoch = int(held["epoch"])
        for number, variable in enumerate(variables(network)):
            variable.assign(held[f"arr_{number}"])
ds, callbacks = resumable(Save())
network.fit(ds, epochs=EPOCHS, initial_epoch=epoch, verbose=0, callbacks=callbacks)
