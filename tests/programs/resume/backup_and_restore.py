"""keras.callbacks.BackupAndRestore: weights, optimizer and epoch; not the seed generators, nor the order of the data."""

import keras
from common import EPOCHS, model, resumable

ds, callbacks = resumable(keras.callbacks.BackupAndRestore("backup"))
model().fit(ds, epochs=EPOCHS, verbose=0, callbacks=callbacks)
