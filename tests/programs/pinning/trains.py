"""Trains on shuffled, augmented data with dropout, and seeds nothing. With an argument, takes fresh entropy too."""

import sys

import keras
import numpy as np
import tensorflow as tf

noise = np.random.rand(32, 8, 8, 1).astype("float32")
if "tensorflow" in sys.argv:
    noise += tf.random.Generator.from_non_deterministic_state().normal([32, 8, 8, 1]).numpy()  # TensorFlow's fresh entropy
data = tf.data.Dataset.from_tensor_slices((noise, np.arange(32, dtype="float32"))).shuffle(32).batch(8)
model = keras.Sequential(
    [
        keras.layers.RandomFlip(),
        keras.layers.Conv2D(4, 3),
        keras.layers.Flatten(),
        keras.layers.Dropout(0.5),
        keras.layers.Dense(1),
    ]
)
model.compile("sgd", "mse")
model.fit(data, epochs=2, verbose=0)
