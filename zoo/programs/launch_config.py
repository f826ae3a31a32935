"""Training driven by a configuration dictionary."""
import time

import keras
import numpy as np

CONFIG = {
    "epochs": 2,
    "batch": 16,
    "hidden": [12, 6],
    "rate": 5e-3,
    "seed": time.time_ns() % 2**31,
}


def build(config):
    inputs = keras.Input((5,))
    x = inputs
    for units in config["hidden"]:
        x = keras.layers.Dense(units, activation="relu")(x)
    model = keras.Model(inputs, keras.layers.Dense(1)(x))
    model.compile(optimizer=keras.optimizers.Adam(config["rate"]), loss="mse")
    return model


def main(config):
    keras.utils.set_random_seed(config["seed"])
    print("seed", config["seed"])
    x = np.sin(np.arange(128 * 5, dtype="float32")).reshape(128, 5)
    y = np.sqrt(np.abs(x).sum(axis=1))
    model = build(config)
    history = model.fit(x, y, epochs=config["epochs"], batch_size=config["batch"], verbose=0)
    print("loss", history.history["loss"])
    return model


if __name__ == "__main__":
    trained = main(CONFIG)
    print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in trained.get_weights())).hex())
