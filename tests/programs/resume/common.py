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
    y = x.sum(axis=1, keepdims=True)
    if argument("plain", 0):
        return tf.data.Dataset.from_tensors((x, y)).repeat(BATCHES)
    return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(40, seed=7).batch(8)


def resumable(*callbacks):
    """The data and the callbacks of `fit`; with `state=1` on the command line twinrun.ResumeState is the last of them."""
    if not argument("state", 0):
        return data(), callbacks
    import twinrun

    state = twinrun.ResumeState("resumed/state.npz", data())
    return state.data, [*callbacks, state]


def checkpointed(network, optimizer, /, **others):
    """What a loop of its own saves, and its batches from there; with `state=1` with the optimizer and twinrun.ResumeState in it."""
    step = tf.Variable(0, dtype=tf.int64, name="done")
    if not argument("state", 0):
        checkpoint = tf.train.Checkpoint(model=network, step=step, **others)
        return checkpoint, step, lambda: data().repeat().take(EPOCHS * BATCHES - int(step))
    import twinrun

    state = twinrun.ResumeState(data=data(), model=network)
    checkpoint = tf.train.Checkpoint(model=network, step=step, state=state, optimizer=optimizer)
    return checkpoint, step, lambda: (batch for _ in state.epochs(EPOCHS) for batch in state.batches())


def model():
    """With `plain=1` on the command line without dropout, and every batch is the same."""
    dropout = [] if argument("plain", 0) else [keras.layers.Dropout(0.5)]
    made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(6), *dropout, keras.layers.Dense(1)])
    rate = keras.optimizers.schedules.ExponentialDecay(0.01, 5, 0.9)
    made.compile(keras.optimizers.Adam(rate), "mse", metrics=["mae"])
    if argument("evaluated", 0):  # before anything is loaded
        made.evaluate(data(), verbose=0)
    return made


@tf.function
def train_step(network, x, y, optimizer=None):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((network(x, training=True) - y) ** 2)
    gradients = tape.gradient(loss, network.trainable_variables)
    (optimizer or network.optimizer).apply_gradients(zip(gradients, network.trainable_variables))
    return loss
