"""What the programs of this folder train: a small network with dropout, on data that is shuffled anew in every epoch."""

import sys

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(3)


def argument(name, default):
    """What the command line gives as name=value."""
    given = dict(word.split("=", 1) for word in sys.argv[1:])
    return type(default)(given.get(name, default))


EPOCHS, BATCHES = argument("epochs", 4), 5


def data():
    x = np.linspace(-1.0, 1.0, 40 * 4, dtype="float32").reshape(40, 4)
    return tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1, keepdims=True))).shuffle(40, seed=7).batch(8)


def model():
    layers = [keras.Input((4,)), keras.layers.Dense(6), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
    made = keras.Sequential(layers)
    rate = keras.optimizers.schedules.ExponentialDecay(0.01, 5, 0.9)
    made.compile(keras.optimizers.Adam(rate), "mse", metrics=["mae"])
    return made


@tf.function
def train_step(network, x, y, optimizer=None):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((network(x, training=True) - y) ** 2)
    gradients = tape.gradient(loss, network.trainable_variables)
    (optimizer or network.optimizer).apply_gradients(zip(gradients, network.trainable_variables))
    return loss
