import math

import keras
import numpy as np

keras.utils.set_random_seed(33)


class Windows(keras.utils.PyDataset):
    """Slices of one long recording; several workers cut them."""

    def __init__(self, signal, width, batch, **kwargs):
        super().__init__(**kwargs)
        self.signal, self.width, self.batch = signal, width, batch
        self.starts = np.arange(0, len(signal) - width - 1, 7)

    def __len__(self):
        return math.ceil(len(self.starts) / self.batch)

    def __getitem__(self, index):
        starts = self.starts[index * self.batch:(index + 1) * self.batch]
        x = np.stack([self.signal[s:s + self.width] for s in starts])
        return np.sort(x, axis=1), self.signal[starts + self.width]


signal = np.sin(np.arange(3000) * 0.11).astype("float32") + np.random.normal(0, 0.1, 3000).astype("float32")
windows = Windows(signal, 20, 24, workers=3)
model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(12, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
history = model.fit(windows, epochs=2, verbose=0)
print("loss", history.history["loss"])
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
