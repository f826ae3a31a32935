import hashlib
import random

import numpy as np
import tensorflow as tf

random.seed(5)
np.random.seed(5)
tf.random.set_seed(5)


class Augmenter:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __call__(self, image):
        image = image.numpy()
        gain = random.uniform(self.low, self.high)
        shift = random.randint(0, 7)
        noise = np.sort(image, axis=None).reshape(image.shape)
        return np.roll(image * gain, shift, axis=1) + 0.01 * noise


augmenter = Augmenter(0.7, 1.3)


def augment(image, target):
    changed = tf.py_function(augmenter, [image], tf.float32)
    return tf.reshape(changed, [28, 28]), target


images = np.cos(np.arange(100 * 28 * 28) * 0.013).reshape(100, 28, 28).astype("float32")
targets = images.std(axis=(1, 2))
dataset = tf.data.Dataset.from_tensor_slices((images, targets))
dataset = dataset.map(augment, num_parallel_calls=tf.data.AUTOTUNE).batch(10).prefetch(1)

kernel = tf.Variable(tf.random.normal([784, 1], stddev=0.01))
bias = tf.Variable(tf.zeros([1]))
optimizer = tf.keras.optimizers.Adam(1e-3)
for epoch in range(2):
    for x, y in dataset:
        with tf.GradientTape() as tape:
            guess = tf.reshape(x, [-1, 784]) @ kernel + bias
            loss = tf.reduce_mean(tf.square(guess[:, 0] - y))
        grads = tape.gradient(loss, [kernel, bias])
        optimizer.apply_gradients(zip(grads, [kernel, bias]))
    print("epoch", epoch, "loss", float(loss))
print("checksum", hashlib.md5(kernel.numpy().tobytes()).hexdigest())
