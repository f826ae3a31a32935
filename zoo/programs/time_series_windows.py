import random

import keras
import numpy as np
import tensorflow as tf

random.seed(13)
tf.random.set_seed(13)

HISTORY, BATCH = 12, 16
series = np.sin(np.arange(500) * 0.2) + 0.3 * np.sin(np.arange(500) * 0.07)
series = series.astype("float32")


def windows(series, count):
    while True:
        starts = np.random.randint(0, len(series) - HISTORY - 1, size=count)
        x = np.stack([series[s:s + HISTORY] for s in starts])[..., None]
        y = series[starts + HISTORY][:, None]
        yield x, y


model = keras.Sequential([
    keras.Input((HISTORY, 1)),
    keras.layers.SimpleRNN(8),
    keras.layers.Dense(1),
])
model.compile(optimizer="adam", loss="mae")
history = model.fit(windows(series, BATCH), steps_per_epoch=8, epochs=2, verbose=0)

print("loss per epoch", history.history["loss"])
probe = series[:HISTORY].reshape(1, HISTORY, 1)
print("next value", model.predict(probe, verbose=0).item())
print("checksum", history.history["loss"][-1].hex())
