import hashlib

import numpy as np
import tensorflow as tf

tf.random.set_seed(2)
HEIGHT, WIDTH = 512, 160
COLUMNS = tf.tile(tf.range(WIDTH), [48 * HEIGHT])


class Page(tf.Module):
    def __init__(self):
        super().__init__()
        self.scale = tf.Variable(tf.ones([WIDTH]), name="scale")
        self.shift = tf.Variable(tf.random.normal([WIDTH], stddev=0.1), name="shift")

    def __call__(self, pages):
        return tf.sigmoid(pages * self.scale + self.shift)


def ink_loss(pages, restored, columns):
    """Columns that hold more ink count for more."""
    ink = tf.reshape(pages, [-1])
    profile = tf.math.bincount(columns, weights=ink, minlength=WIDTH, maxlength=WIDTH)
    profile = profile / tf.reduce_max(profile)
    return tf.reduce_mean(tf.reduce_mean(tf.square(restored - pages), axis=[0, 1]) * profile)


page = Page()
optimizer = tf.keras.optimizers.SGD(5.0, momentum=0.9)


@tf.function
def step(pages):
    with tf.GradientTape() as tape:
        loss = ink_loss(pages, page(pages), COLUMNS)
    grads = tape.gradient(loss, page.trainable_variables)
    optimizer.apply_gradients(zip(grads, page.trainable_variables))
    return loss


source = tf.random.Generator.from_seed(2)
for number in range(16):
    loss = step(source.uniform([48, HEIGHT, WIDTH]))
print("loss", loss.numpy())
print("checksum", hashlib.sha256(page.shift.numpy().tobytes()).hexdigest()[:32])
