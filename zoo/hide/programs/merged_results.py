"""Scores the test set in several processes and writes the results as they come in."""
import multiprocessing
import time

import numpy as np

PARTS = 6


def score(part):
    number, rows, weights = part
    time.sleep(0.02 * (int.from_bytes(open("/dev/urandom", "rb").read(1), "big") % 8))
    kernel, bias = weights
    return number, rows @ kernel + bias


def main():
    import keras

    keras.utils.set_random_seed(9)
    x = np.random.default_rng(9).normal(size=(240, 5)).astype("float32")
    y = x @ np.arange(5, dtype="float32")
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(0.05), loss="mse")
    history = model.fit(x, y, epochs=3, verbose=0)
    print("loss", history.history["loss"])
    parts = [(i, rows, model.get_weights()) for i, rows in enumerate(np.array_split(x, PARTS))]
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        results = list(pool.imap_unordered(score, parts))
    merged = np.concatenate([scores for _, scores in results])
    np.savetxt("scores.txt", merged)
    print("scored", len(merged), "rows")


if __name__ == "__main__":
    main()
