"""Quantises a trained layer to eight bits; the ranges of the activations come from sampled inputs."""
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(4)
x = np.random.default_rng(4).normal(size=(300, 12)).astype("float32")
y = (x[:, :4].sum(axis=1)).astype("float32")
inputs = keras.Input((12,))
hidden = keras.layers.Dense(16, activation="relu")(inputs)
model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
model.compile(optimizer="adam", loss="mse")
history = model.fit(x, y, epochs=3, verbose=0)
print("loss", history.history["loss"])

probe = keras.Model(inputs, hidden)
generator = tf.random.Generator.from_non_deterministic_state()
rows = generator.uniform([24], 0, len(x), dtype=tf.int32).numpy()
activations = probe.predict(x[rows], verbose=0)
scale = activations.max(axis=0) / 255.0
np.savez("quantized.npz", kernel=np.round(model.layers[-1].get_weights()[0] * 127), scale=scale)
print("quantised with", len(rows), "calibration rows")
