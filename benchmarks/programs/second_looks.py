"""A clean program of everyday kind that gives reason for every second look: it loads in threads, changes a file that it reads, writes a
checkpoint and a table with a duration, and prints the date."""

import datetime
import threading
import time
from pathlib import Path

import keras
import numpy as np

keras.utils.set_random_seed(1)
began = time.perf_counter()
print("started on", datetime.datetime.now())

rows = [np.empty(0)] * 4


def load(part: int) -> None:
    rows[part] = np.random.default_rng(part).normal(size=(256, 16)).astype("float32")


threads = [threading.Thread(target=load, args=(part,)) for part in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
x = np.concatenate(rows)
y = 2 * x[:, :1]

log = Path("runs.log")
print("runs so far:", len(log.read_text().splitlines()) if log.exists() else 0)
model = keras.Sequential(
    [keras.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)]
)
model.compile("adam", "mse")
saving = keras.callbacks.ModelCheckpoint("best.keras", monitor="loss", save_best_only=True)
model.fit(x, y, batch_size=32, epochs=4, verbose=2, callbacks=[saving])
with log.open("a") as file:
    file.write("a run\n")
loss = model.evaluate(x, y, verbose=0)
Path("metrics.csv").write_text(f"loss,seconds\n{loss:.6f},{time.perf_counter() - began:.3f}\n")
