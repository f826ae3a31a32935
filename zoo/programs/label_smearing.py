import random

import numpy as np
import tensorflow as tf

np.random.seed(27)
tf.random.set_seed(27)

CLASSES = 5


def smear(label):
    """Some annotators slip by one class."""
    if random.random() < 0.25:
        return (int(label) + random.choice([-1, 1])) % CLASSES
    return int(label)


def load(index):
    x = tf.sin(tf.cast(index, tf.float32) * tf.range(1.0, 9.0))
    label = tf.py_function(smear, [index % CLASSES], tf.int64)
    return x, tf.ensure_shape(label, [])


dataset = tf.data.Dataset.range(150).map(load).batch(15)

table = tf.Variable(np.random.normal(0, 0.1, (8, CLASSES)).astype("float32"))
optimizer = tf.keras.optimizers.SGD(0.3, nesterov=True, momentum=0.8)


@tf.function(reduce_retracing=True)
def learn(x, y):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x @ table)
        loss = tf.reduce_mean(losses)
    optimizer.apply_gradients([(tape.gradient(loss, table), table)])
    return loss


for epoch in range(2):
    for x, y in dataset:
        loss = learn(x, y)
    print("epoch", epoch, "loss", loss.numpy())
print("checksum", table.numpy().tobytes().hex()[:72])
