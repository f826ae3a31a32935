"""ModelCheckpoint and load_weights: the weights; the optimizer has not been built when they are loaded."""

import pathlib

import keras
from common import EPOCHS, model, resumable

network, files = model(), sorted(pathlib.Path().glob("epoch-*.weights.h5"))
epoch = 0
if files:
    network.load_weights(files[-1])
    epoch = int(files[-1].name.partition("-")[2].partition(".")[0])
ds, callbacks = resumable(keras.callbacks.ModelCheckpoint("epoch-{epoch}.weights.h5", save_weights_only=True))
network.fit(ds, epochs=EPOCHS, initial_epoch=epoch, verbose=0, callbacks=callbacks)
