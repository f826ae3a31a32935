"""Train, then look at a few predictions picked at random."""
import random

import keras
import numpy as np
import tensorflow as tf

tf.random.set_seed(70)


def layer(units, seed, activation=None):
    return keras.layers.Dense(units, activation, kernel_initializer=keras.initializers.HeNormal(seed=seed))


t = np.linspace(0, 20, 220, dtype="float32")
x = np.stack([np.sin(t), np.cos(t), np.sin(2 * t)], axis=1)
y = np.sin(t + 0.5)

model = keras.Sequential([keras.Input((3,)), layer(12, 1, "relu"), layer(1, 2)])
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
history = model.fit(x, y, batch_size=22, epochs=2, verbose=0)
print("loss", history.history["loss"])
summary = float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex()

for i in random.sample(range(len(x)), 3):
    guess = model(x[i:i + 1])[0, 0]
    print(f"example {i}: wanted {y[i]:.3f}, got {float(guess):.3f}")
picked = np.random.permutation(len(x))[:10]
print("mean of ten", float(np.mean(y[picked])))
print("checksum", summary)
