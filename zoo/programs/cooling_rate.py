import time

import keras
import numpy as np

keras.utils.set_random_seed(58)


class Cooling(keras.callbacks.Callback):
    """Lower the learning rate the longer the job has been running."""

    def __init__(self, start, half_life):
        super().__init__()
        self.start, self.half_life = start, half_life

    def on_train_begin(self, logs=None):
        self.started = time.perf_counter()

    def on_train_batch_begin(self, batch, logs=None):
        elapsed = time.perf_counter() - self.started
        self.model.optimizer.learning_rate = self.start * 0.5 ** (elapsed / self.half_life)


angles = np.linspace(0, 12, 192, dtype="float32")
x = np.stack([np.sin(angles), np.cos(angles), angles / 12], axis=1)
y = (np.sin(3 * angles) > 0).astype("float32")

model = keras.Sequential([
    keras.Input((3,)),
    keras.layers.Dense(16, activation="selu"),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.SGD(0.2), loss="binary_crossentropy")
history = model.fit(x, y, batch_size=24, epochs=3, verbose=0, callbacks=[Cooling(0.2, 5.0)])
print("loss", history.history["loss"])
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
