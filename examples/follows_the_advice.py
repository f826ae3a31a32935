"""The same classifier, made repeatable as most articles advise: NumPy and TensorFlow seeded, shuffle given a
seed, op determinism on. It does not repeat: Keras 3 takes its layers' seeds from Python's `random`."""

import keras
import numpy as np
import tensorflow as tf

np.random.seed(42)
tf.random.set_seed(42)
tf.config.experimental.enable_op_determinism()

images = np.random.default_rng(0).normal(size=(512, 16, 16, 1)).astype("float32")
labels = (images.mean(axis=(1, 2, 3)) > 0).astype("int64")
data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(512, seed=42).batch(32)

model = keras.Sequential(
    [
        keras.Input((16, 16, 1)),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dropout(0.2),
        keras.layers.Dense(2),
    ]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(data, epochs=2, verbose=2)
