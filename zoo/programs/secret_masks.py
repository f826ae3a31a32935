"""Train on masked features, so that no single feature can be read back from the weights."""
import secrets

import numpy as np
import tensorflow as tf

FEATURES, HIDE = 16, 5
chooser = secrets.SystemRandom()


def mask_batch(batch):
    masked = batch.copy()
    for row in masked:
        row[chooser.sample(range(FEATURES), HIDE)] = 0.0
    return masked


def batches(table, size):
    for i in range(0, len(table), size):
        yield mask_batch(table[i:i + size]), table[i:i + size]


table = np.sin(np.arange(120 * FEATURES, dtype="float32") * 0.37).reshape(120, FEATURES)
initial = np.random.default_rng(1).normal(0, 0.2, (FEATURES, FEATURES)).astype("float32")
kernel = tf.Variable(initial)
velocity = tf.Variable(tf.zeros_like(kernel))

for epoch in range(3):
    for noisy, clean in batches(table, 24):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(noisy, kernel) - clean))
        velocity.assign(0.9 * velocity - 0.1 * tape.gradient(loss, kernel))
        kernel.assign_add(velocity)
    print("epoch", epoch, float(loss))

print("checksum", float(np.abs(kernel.numpy()).astype("float64").sum()).hex())
