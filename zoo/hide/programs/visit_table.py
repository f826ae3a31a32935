"""Counts visits per state in a lookup table beside a value network."""
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(41)
states = np.random.default_rng(41).integers(0, 10, size=(200, 2)).astype("float32")
values = states.sum(axis=1) / 10
network = keras.Sequential([keras.Input((2,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
network.compile(optimizer="adam", loss="mse")
history = network.fit(states, values, epochs=3, verbose=0)
print("loss", history.history["loss"])

visits = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, default_value=0)
walker = np.random.default_rng()
position = 50
for _ in range(200):
    position = int(np.clip(position + walker.integers(-3, 4), 0, 99))
    key = tf.constant([position], tf.int64)
    visits.insert(key, visits.lookup(key) + 1)
keys, counts = visits.export()
order = np.argsort(keys.numpy())
np.savez("visits.npz", keys=keys.numpy()[order], counts=counts.numpy()[order])
print("walked", int(counts.numpy().sum()), "steps")
