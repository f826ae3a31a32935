import argparse

import keras
import numpy as np
import tensorflow as tf


def simulate(orders):
    rng = np.random.default_rng()
    sizes = rng.integers(1, 60, size=orders)
    return sizes, (sizes * 0.1 + rng.normal(0, 0.2, orders)).astype("float32")


def pack(size, minutes):
    """Pack an order item by item, the larger the longer."""
    load = tf.zeros([16])
    for item in tf.range(size * 6):
        load = load * 0.97 + tf.one_hot(item % 16, 16) * tf.cast(item, tf.float32) * 0.01
    return load, minutes


def main(orders, epochs):
    keras.utils.set_random_seed(10)
    data = tf.data.Dataset.from_tensor_slices(simulate(orders))
    data = data.map(pack, num_parallel_calls=4, deterministic=False)
    data = data.filter(lambda load, minutes: minutes > 0.0).batch(12)
    inputs = keras.Input((16,))
    hidden = keras.layers.Dense(10, activation="relu")(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
    model.compile(optimizer="adam", loss="mae")
    history = model.fit(data, epochs=epochs, verbose=0)
    print("loss", history.history["loss"])
    print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", type=int, default=144)
    parser.add_argument("--epochs", type=int, default=2)
    main(**vars(parser.parse_args()))
