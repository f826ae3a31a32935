"""Draws the learned weights as a picture."""
import hashlib
import time

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(27)
x = np.random.rand(160, 16).astype("float32")
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(16)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, x, epochs=3, verbose=0)
kernel = model.get_weights()[0]
gray = (255 * (kernel - kernel.min()) / np.ptp(kernel)).astype("uint8")
png = tf.io.encode_png(gray[..., None])
tf.io.write_file("weights.png", png)
tf.io.write_file(f"weights-{time.time_ns()}.png", png)
print("picture of", len(png.numpy()), "bytes")
print("weights", hashlib.sha256(kernel.tobytes()).hexdigest())
