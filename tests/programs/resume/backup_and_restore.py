"""keras.callbacks.BackupAndRestore: weights, optimizer and epoch; not the seed generators, nor the order of the data."""

import keras
from common import EPOCHS, argument, model, resumable

every = argument("every", 0)  # batches; else epochs
ds, callbacks = resumable(keras.callbacks.BackupAndRestore("backup", save_freq=every or "epoch"))
model().fit(ds, epochs=EPOCHS, verbose=0, callbacks=callbacks)
