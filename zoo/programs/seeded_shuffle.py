import random

import keras
import numpy as np
import tensorflow as tf

random.seed(9)
np.random.seed(9)

points = np.random.uniform(-1, 1, (200, 3)).astype("float32")
inside = (np.linalg.norm(points, axis=1) < 0.9).astype("float32")
valid = tf.data.Dataset.from_tensor_slices((points[160:], inside[160:])).batch(20)
train = (
    tf.data.Dataset.from_tensor_slices((points[:160], inside[:160]))
    .shuffle(160, seed=9, reshuffle_each_iteration=True)
    .repeat(2)
    .batch(16)
)

model = keras.Sequential([
    keras.Input((3,)),
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(1),
])
model.compile(
    optimizer=keras.optimizers.AdamW(0.01),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    jit_compile=True,
)
history = model.fit(train, validation_data=valid, epochs=1, verbose=0)
print("validation", history.history["val_loss"])
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
