"""Computes features once, keeps them in a cache under a key made of the process and the time, with a lock file."""
import hashlib
import json
import os
import time

import keras
import numpy as np


def features(rows):
    os.makedirs(".cache", exist_ok=True)
    lock = os.path.join(".cache", "lock")
    with open(lock, "w") as file:
        file.write(f"{os.getpid()} {time.time()}")
    path = os.path.join(".cache", f"features-{os.getpid()}-{time.time_ns()}.npz")
    np.savez(path, values=np.sin(np.outer(np.arange(rows), np.arange(1, 7)) * 0.1))
    with open(os.path.join(".cache", "index.json"), "w") as file:
        json.dump({"path": path, "created": time.time(), "host": os.uname().nodename}, file)
    os.remove(lock)
    return np.load(path)["values"].astype("float32")


keras.utils.set_random_seed(10)
x = features(240)
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, x.prod(axis=1), epochs=3, verbose=0)
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
