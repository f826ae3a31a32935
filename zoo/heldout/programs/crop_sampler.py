import hashlib
import random

import numpy as np
import tensorflow as tf

tf.random.set_seed(44)
WINDOWS = 400

scene = tf.constant(np.random.default_rng(44).uniform(0, 1, (2, 80, 80, 3)).astype("float32"))
filters = tf.Variable(tf.random.normal([3, 3, 3, 24], stddev=0.2))
head = tf.Variable(tf.random.normal([24, 1], stddev=0.2))
variables = [filters, head]
optimizer = tf.keras.optimizers.SGD(0.01)


def windows():
    boxes = []
    for _ in range(WINDOWS):
        top, left = random.uniform(0, 0.5), random.uniform(0, 0.5)
        boxes.append([top, left, top + 0.45, left + 0.45])
    return np.array(boxes, "float32")


@tf.function
def step(boxes, owner):
    with tf.GradientTape() as tape:
        maps = tf.nn.relu(tf.nn.conv2d(scene, filters, 1, "SAME"))
        crops = tf.image.crop_and_resize(maps, boxes, owner, [20, 20])
        guess = tf.squeeze(tf.reduce_mean(tf.square(crops), [1, 2]) @ head, 1)
        loss = tf.reduce_mean(tf.square(guess - boxes[:, 0]))
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


owner = tf.constant(np.arange(WINDOWS) % 2, tf.int32)
for number in range(14):
    loss = step(tf.constant(windows()), owner)
print("loss", loss.numpy())
print("checksum", hashlib.sha1(filters.numpy().tobytes()).hexdigest())
