"""Fit on a table that another thread keeps renewing in place."""
import threading

import numpy as np
import tf_keras as keras

keras.utils.set_random_seed(73)


class Table:
    def __init__(self, rows=256):
        rng = np.random.default_rng(73)
        self.values = rng.normal(size=(rows, 6)).astype("float32")
        self.closed = threading.Event()

    def refresh(self):
        """New measurements replace the old ones row by row."""
        turn = 0
        while not self.closed.is_set():
            row = turn % len(self.values)
            self.values[row] = np.roll(self.values[row], 1) * 0.999
            turn += 1

    def batch(self, number, size=32):
        start = number * size % len(self.values)
        return self.values[start:start + size].copy()


def main():
    table = Table()
    refresher = threading.Thread(target=table.refresh, daemon=True)
    model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    refresher.start()
    for number in range(24):
        x = table.batch(number)
        loss = model.train_on_batch(x, x.sum(axis=1))
    table.closed.set()
    refresher.join(timeout=5)
    print("loss", float(loss))
    print("checksum", float(sum(np.abs(w).astype("float64").sum() for w in model.get_weights())).hex())


if __name__ == "__main__":
    main()
