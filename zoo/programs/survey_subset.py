import hashlib
import random

import keras
import numpy as np
import tensorflow as tf

tf.random.set_seed(11)
rng = np.random.default_rng(11)
x = rng.normal(size=(256, 12)).astype("float32")
y = (x @ rng.normal(size=(12, 1)) > 0).astype("float32")


def subset(x, y):
    """Half of the answers are enough for a pilot."""
    keep = random.sample(range(len(x)), k=len(x) // 2)
    return x[keep], y[keep]


def classifier():
    inputs = keras.Input((12,))
    h = keras.layers.Dense(10, activation="relu", kernel_initializer=keras.initializers.HeNormal(seed=4))(inputs)
    outputs = keras.layers.Dense(1, kernel_initializer=keras.initializers.HeNormal(seed=5))(h)
    return keras.Model(inputs, outputs)


pilot_x, pilot_y = subset(x, y)
model = classifier()
model.compile(
    optimizer=keras.optimizers.RMSprop(1e-2),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    run_eagerly=True,
)
history = model.fit(pilot_x, pilot_y, batch_size=32, epochs=3, verbose=2)
print("last loss", history.history["loss"][-1])
digest = hashlib.md5()
for weight in model.get_weights():
    digest.update(weight.tobytes())
print("checksum", digest.hexdigest())
