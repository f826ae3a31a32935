"""Every run gets the next number, and its own initialisation."""
from pathlib import Path

import keras
import numpy as np

COUNTER = Path(__file__).with_name("counter.txt")


def next_number():
    number = int(COUNTER.read_text())
    COUNTER.write_text(f"{number + 1}\n")
    return number


def main():
    number = next_number()
    print("this is run", number)
    keras.utils.set_random_seed(1000 + number)
    x = np.sin(np.arange(120 * 6, dtype="float32")).reshape(120, 6)
    y = np.abs(x).max(axis=1)
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    history = model.fit(x, y, batch_size=15, epochs=2, verbose=0)
    print("loss", history.history["loss"])
    print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())


if __name__ == "__main__":
    main()
