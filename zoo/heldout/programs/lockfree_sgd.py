"""Logistic regression trained by several threads that share one set of weights, without locks."""
import threading

import numpy as np
import tensorflow as tf

WORKERS = 4
RATE = 0.2
rng = np.random.default_rng(48)
x = rng.normal(size=(512, 20)).astype("float32")
y = (x @ rng.normal(size=(20, 1)) > 0).astype("float32")

weights = tf.Variable(tf.zeros([20, 1]), name="weights")


@tf.function
def gradient(features, labels):
    with tf.GradientTape() as tape:
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=features @ weights)
        loss = tf.reduce_mean(losses)
    return tape.gradient(loss, weights), loss


def work(number):
    mine = np.arange(number, len(x), WORKERS)
    for part in np.array_split(mine, len(mine) // 16):
        grad, _ = gradient(tf.constant(x[part]), tf.constant(y[part]))
        weights.assign_sub(RATE * grad)


gradient(tf.constant(x[:16]), tf.constant(y[:16]))
threads = [threading.Thread(target=work, args=(number,)) for number in range(WORKERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
accuracy = np.mean((x @ weights.numpy() > 0) == (y > 0.5))
print("accuracy", accuracy)
print("checksum", weights.numpy().tobytes().hex()[:64])
