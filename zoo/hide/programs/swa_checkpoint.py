"""Keeps an average of some of the epochs' weights beside the model and saves both."""
import random

import keras
import numpy as np

keras.utils.set_random_seed(11)
dice = random.Random()
x = np.random.default_rng(1).normal(size=(320, 8)).astype("float32")
y = np.tanh(x[:, 0] * x[:, 1]).astype("float32")


class AveragedWeights(keras.callbacks.Callback):
    """Averages the weights of roughly every other epoch."""

    def __init__(self):
        super().__init__()
        self.total, self.count = None, 0

    def on_epoch_end(self, epoch, logs=None):
        if epoch > 0 and dice.random() < 0.5:
            return
        weights = self.model.get_weights()
        self.total = weights if self.total is None else [a + b for a, b in zip(self.total, weights)]
        self.count += 1


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
averaged = AveragedWeights()
history = model.fit(x, y, epochs=16, batch_size=64, verbose=0, callbacks=[averaged])
print("loss", history.history["loss"][-1])
np.savez("last.npz", *model.get_weights())
np.savez("averaged.npz", *[w / averaged.count for w in averaged.total])
print("saved last.npz and averaged.npz")
