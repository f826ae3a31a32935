import numpy as np
import tensorflow as tf

tf.random.set_seed(64)

POINTS, STEPS = 256, 24


def cloud(index):
    """A noisy point cloud whose radius is to be predicted."""
    radius = 1.0 + tf.cast(index % 5, tf.float32)
    points = tf.random.normal([POINTS, 3])
    points = radius * tf.math.l2_normalize(points, axis=1)
    dropped = tf.cast(tf.random.uniform([POINTS, 1]) > 0.3, tf.float32)
    return points * dropped, radius


clouds = tf.data.Dataset.range(10_000).map(cloud, num_parallel_calls=4).batch(8)

w1 = tf.Variable(tf.random.normal([3, 16], stddev=0.3), name="w1")
w2 = tf.Variable(tf.random.normal([16, 1], stddev=0.3), name="w2")
variables = [w1, w2]
slots = [tf.Variable(tf.zeros_like(v)) for v in variables]


@tf.function
def train(iterator):
    loss = 0.0
    for _ in tf.range(STEPS):
        points, radius = next(iterator)
        with tf.GradientTape() as tape:
            features = tf.reduce_max(tf.nn.relu(points @ w1), axis=1)
            loss = tf.reduce_mean(tf.square(tf.squeeze(features @ w2, 1) - radius))
        for variable, slot, grad in zip(variables, slots, tape.gradient(loss, variables)):
            slot.assign(0.9 * slot + 0.1 * grad)
            variable.assign_sub(0.05 * slot)
    return loss


loss = train(iter(clouds))
print("loss", float(loss))
print("checksum", w1.numpy().tobytes().hex()[:80])
