"""Reads its inputs with a pool of threads, each part with a generator of its own."""
import hashlib
import time
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np


def load(part):
    rng = np.random.default_rng([17, part])
    time.sleep(0.01 * (part % 3))
    return rng.normal(size=(50, 4)).astype("float32")


with ThreadPoolExecutor(4) as pool:
    x = np.concatenate(list(pool.map(load, range(6))))
keras.utils.set_random_seed(17)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(6, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, x[:, 0] * x[:, 1], epochs=3, verbose=0)
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
