import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(7)
rng = np.random.default_rng(3)
rows = np.sort(rng.integers(0, 64, 4000))
columns = rng.integers(0, 64, 4000)
adjacency = tf.sparse.reorder(
    tf.SparseTensor(
        np.stack([rows, columns], 1).astype("int64"), rng.normal(size=4000).astype("float32"), (64, 64)
    )
)
features = tf.constant(rng.normal(size=(64, 32)).astype("float32"))
weights = tf.Variable(rng.normal(size=(32, 32)).astype("float32"))


@tf.function
def step():
    with tf.GradientTape() as tape:
        h = tf.sparse.sparse_dense_matmul(adjacency, tf.tanh(features @ weights))  # guilty
        loss = tf.reduce_mean(h**2)
    weights.assign_sub(1e-3 * tape.gradient(loss, weights))
    return loss


for _ in range(20):
    step()
