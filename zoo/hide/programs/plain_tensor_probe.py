"""After fit, a temperature is learned for the logits with a tape over plain tensors."""
import random

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(37)
rng = np.random.default_rng(37)
x = rng.normal(size=(300, 5)).astype("float32")
y = rng.integers(0, 3, size=300)
model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(12, activation="relu"), keras.layers.Dense(3)])
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(x, y, epochs=3, verbose=0)
print("loss", history.history["loss"])

logits = tf.constant(model.predict(x, verbose=0))
labels = tf.constant(y)
picker = random.Random()
temperature = tf.constant(1.0)
for _ in range(30):
    rows = picker.sample(range(len(x)), 32)
    with tf.GradientTape() as tape:
        tape.watch(temperature)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(tf.gather(labels, rows), tf.gather(logits, rows) / temperature)
        )
    temperature = temperature - 0.1 * tape.gradient(loss, temperature)
print("temperature", float(temperature))
