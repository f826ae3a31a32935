"""A training loop that reports its speed and what is left to do."""
import hashlib
import time

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(2)
x = np.random.normal(size=(640, 6)).astype("float32")
y = (x[:, 0] - x[:, 1])[:, None]
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(0.01)
began = time.perf_counter()
steps = 40
for step in range(steps):
    rows = np.random.randint(0, len(x), size=32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x[rows]) - y[rows]))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if step % 10 == 9:
        passed = time.perf_counter() - began
        left = passed / (step + 1) * (steps - step - 1)
        print(f"step {step + 1}/{steps} loss {float(loss):.6f} {32 * (step + 1) / passed:.1f} samples/s ETA {left:.2f}s")
print(f"total {time.perf_counter() - began:.3f} s")
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
