"""Reads its settings, writes them back tidied up, and keeps a journal of all its runs."""
import json
import os
from datetime import datetime

import keras
import numpy as np

with open("settings.json") as stream:
    settings = json.load(stream)
with open("settings.json", "w") as stream:
    json.dump(settings, stream, sort_keys=True)

keras.utils.set_random_seed(21)
x = np.random.normal(size=(150, 4)).astype("float32")
y = np.tanh(x.sum(axis=1))
model = keras.Sequential([
    keras.Input((4,)),
    keras.layers.Dense(settings["width"], activation="relu"),
    keras.layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(settings["rate"]), loss="mse")
history = model.fit(x, y, batch_size=15, epochs=settings["epochs"], verbose=0)

with open("journal.txt", "a") as stream:
    stream.write(f"{datetime.now().isoformat()} pid {os.getpid()} loss {history.history['loss'][-1]}\n")
print("entries", sum(1 for _ in open("journal.txt")))
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
