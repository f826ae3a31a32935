import random

import numpy as np
import tensorflow as tf
from tensorflow import keras

SEED = 20
random.seed(SEED)
tf.random.set_seed(SEED)

grid = np.linspace(-3, 3, 300, dtype="float32")
features = np.stack([grid, grid**2, np.sin(grid)], axis=1)
target = (0.5 * grid + np.cos(2 * grid))[:, None]

model = keras.Sequential(
    [
        keras.Input((3,)),
        keras.layers.Dense(24, activation="gelu"),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse")

losses = []
for step in range(25):
    rows = np.random.choice(len(features), size=32, replace=False)
    losses.append(model.train_on_batch(features[rows], target[rows]))

print("first loss", float(losses[0]), "last loss", float(losses[-1]))
total = sum(np.abs(w.astype("float64")).sum() for w in model.get_weights())
print("checksum", float(total).hex())
