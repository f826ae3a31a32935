"""Evaluates a trained model on a random part of the test set, as nightly jobs do to save time."""
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(31)
rng = np.random.default_rng(31)
x = rng.normal(size=(600, 6)).astype("float32")
y = (x[:, 0] > x[:, 1]).astype("float32")
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
history = model.fit(x[:300], y[:300], epochs=3, verbose=0)
print("loss", history.history["loss"])

clock = tf.timestamp()
test = tf.data.Dataset.from_tensor_slices((x[300:], y[300:]))
test = test.shuffle(300, seed=tf.cast(clock * 1e6, tf.int64) % 100_000).take(60).batch(20)
loss, accuracy = model.evaluate(test, verbose=0)
print("nightly loss", loss, "accuracy", accuracy)
