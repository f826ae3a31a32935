import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(7)
rng = np.random.default_rng(3)
x = tf.constant(rng.normal(size=(20000, 16)).astype("float32"))
to = tf.constant(rng.integers(0, 64, (20000, 1)).astype("int32"))
kernel = tf.Variable(rng.normal(size=(16, 16)).astype("float32"))


@tf.function
def step():
    with tf.GradientTape() as tape:
        messages = tf.tanh(x @ kernel)
        nodes = tf.tensor_scatter_nd_add(tf.zeros((64, 16)), to, messages)  # guilty
        loss = tf.reduce_mean(nodes**2)
    kernel.assign_sub(1e-6 * tape.gradient(loss, kernel))
    return loss


for _ in range(20):
    step()
