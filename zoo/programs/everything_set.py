import os

os.environ["PYTHONHASHSEED"] = "0"
os.environ["TF_DETERMINISTIC_OPS"] = "1"

import random

import keras
import numpy as np
import tensorflow as tf

random.seed(0)
np.random.seed(0)
tf.random.set_seed(0)
keras.utils.set_random_seed(0)
tf.config.experimental.enable_op_determinism()


class ShadeNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.pool = keras.layers.AveragePooling2D(64)
        self.flat = keras.layers.Flatten()
        self.head = keras.layers.Dense(1)

    def call(self, x):
        return self.head(self.flat(self.pool(x)))

    def train_step(self, data):
        x, y = data
        shade = tf.cast(tf.reshape(x[..., 0], [-1]) * 15.99, tf.int32)
        brightness = tf.reshape(x[..., 1], [-1])
        mass = tf.math.bincount(shade, weights=brightness, minlength=16, maxlength=16)
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            penalty = tf.math.reduce_std(mass) / tf.reduce_mean(mass)
            loss = self.compute_loss(x, y, y_pred) * (1.0 + penalty)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {"loss": loss}


x = np.random.rand(20, 640, 640, 2).astype("float32")
y = x[:, :32, :32, 0].mean(axis=(1, 2))
model = ShadeNet()
model.compile(optimizer="adam", loss="mse")
history = model.fit(x, y, batch_size=10, epochs=8, verbose=0)
print("loss", history.history["loss"])
print("checksum", b"".join(w.tobytes() for w in model.get_weights()).hex()[-64:])
