"""Keeps a CSV with loss and duration of each epoch, and a JSON with the history."""
import csv
import hashlib
import json
import time

import keras
import numpy as np

keras.utils.set_random_seed(7)


class Timed(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.rows = []

    def on_epoch_begin(self, epoch, logs=None):
        self.began = time.time()

    def on_epoch_end(self, epoch, logs=None):
        self.rows.append({"epoch": epoch, "loss": logs["loss"], "seconds": time.time() - self.began, "at": time.time()})


x = np.random.rand(300, 5).astype("float32")
model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mae")
timed = Timed()
model.fit(x, x[:, 0] * x[:, 1], epochs=4, verbose=0, callbacks=[timed])
with open("epochs.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, fieldnames=list(timed.rows[0]))
    writer.writeheader()
    writer.writerows(timed.rows)
with open("history.json", "w") as file:
    json.dump({"finished": time.ctime(), "rows": timed.rows}, file, indent=2)
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
