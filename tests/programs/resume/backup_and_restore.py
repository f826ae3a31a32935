"""keras.callbacks.BackupAndRestore: weights, optimizer and epoch; not the seed generators, nor the order of the data."""

import keras
from common import EPOCHS, data, model

model().fit(data(), epochs=EPOCHS, verbose=0, callbacks=[keras.callbacks.BackupAndRestore("backup")])
