"""Clusters the features of a trained autoencoder and writes the customers' segments."""
import json

import keras
import numpy as np

keras.utils.set_random_seed(2)
x = np.random.default_rng(2).normal(size=(240, 10)).astype("float32")
x[:80] += 1.0
x[80:160, ::2] -= 1.0

inputs = keras.Input((10,))
code = keras.layers.Dense(3, activation="tanh")(inputs)
autoencoder = keras.Model(inputs, keras.layers.Dense(10)(code))
autoencoder.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
history = autoencoder.fit(x, x, epochs=5, verbose=0)
print("loss", history.history["loss"])
features = keras.Model(inputs, code).predict(x, verbose=0)


def kmeans(points, k, rounds=3):
    centers = points[np.random.RandomState().choice(len(points), k, replace=False)]
    for _ in range(rounds):
        nearest = ((points[:, None] - centers[None]) ** 2).sum(-1).argmin(1)
        centers = np.stack([points[nearest == c].mean(0) if (nearest == c).any() else centers[c] for c in range(k)])
    return nearest


segments = kmeans(features, 5)
with open("segments.json", "w") as file:
    json.dump(segments.tolist(), file)
print("segment sizes", np.bincount(segments, minlength=5).tolist())
