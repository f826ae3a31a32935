import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(2)


class Jitter(keras.layers.Layer):
    """Adds a little noise to its input while training."""

    def __init__(self, amount):
        super().__init__()
        self.amount = amount
        self.noise = tf.random.Generator.from_non_deterministic_state()

    def call(self, x, training=False):
        if training:
            return x + self.noise.normal(tf.shape(x), stddev=self.amount)
        return x


model = keras.Sequential([
    keras.Input((6,)),
    Jitter(0.2),
    keras.layers.Dense(10, activation="elu"),
    keras.layers.Dense(2),
])
optimizer = keras.optimizers.Adam(0.01)
criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

x = np.random.normal(size=(128, 6)).astype("float32")
y = (x.sum(axis=1) > 0).astype("int32")
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(16).repeat(2)


@tf.function
def train_step(features, labels):
    with tf.GradientTape() as tape:
        loss = criterion(labels, model(features, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


for number, (features, labels) in enumerate(dataset):
    loss = train_step(features, labels)
    if number % 4 == 0:
        print(number, loss.numpy())
print("checksum", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
