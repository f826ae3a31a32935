import resource
import threading

import keras
import numpy as np


class Monitor(threading.Thread):
    """Samples memory use while the training is going on."""

    def __init__(self, period):
        super().__init__(daemon=True)
        self.period = period
        self.done = threading.Event()
        self.samples = []

    def run(self):
        while not self.done.wait(self.period):
            self.samples.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()


keras.utils.set_random_seed(61)
x = np.random.normal(size=(180, 9)).astype("float32")
y = (np.abs(x).sum(axis=1) > 7).astype("float32")
model = keras.Sequential([
    keras.Input((9,)),
    keras.layers.Dense(14, activation="relu"),
    keras.layers.Dropout(0.2),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy", run_eagerly=True)
with Monitor(0.01) as monitor:
    history = model.fit(x, y, batch_size=30, epochs=3, verbose=0)
print(len(monitor.samples), "samples, at most", max(monitor.samples, default=0), "KiB")
print("loss", history.history["loss"])
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
