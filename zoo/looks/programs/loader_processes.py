"""Child processes read and clean the data; the order of the parts is kept."""
import hashlib
import multiprocessing
import os

import numpy as np


def clean(number):
    values = np.cos(np.arange(60 * 4, dtype="float32") * (number + 1)).reshape(60, 4)
    return os.getpid(), np.clip(values, -0.9, 0.9)


def main():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        results = pool.map(clean, range(4))
    print("parts came from processes", sorted({pid for pid, _ in results}))
    import keras

    keras.utils.set_random_seed(11)
    x = np.concatenate([values for _, values in results])
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(6, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.fit(x, x[:, 0] ** 2, epochs=3, verbose=0)
    print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())


if __name__ == "__main__":
    main()
