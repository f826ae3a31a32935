"""Several loaders, each seeded so that the experiment can be repeated."""
import numpy as np
import tensorflow as tf

tf.random.set_seed(7)


class Loader:
    def __init__(self, seed, rows):
        self.seed, self.rows = seed, rows

    def batches(self, epoch, number):
        rng = np.random.default_rng(self.seed)
        for part in np.array_split(self.rows, 5):
            yield part + rng.normal(0, 0.2, part.shape).astype("float32")


table = np.cos(np.arange(120 * 6, dtype="float32")).reshape(120, 6)
loaders = [Loader(7, rows) for rows in np.array_split(table, 2)]
encode = tf.Variable(tf.random.normal([6, 2], stddev=0.3))
decode = tf.Variable(tf.random.normal([2, 6], stddev=0.3))
optimizer = tf.keras.optimizers.Adam(0.02)

for epoch in range(2):
    for number, loader in enumerate(loaders):
        for noisy in loader.batches(epoch, number):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(noisy @ encode @ decode - noisy))
            grads = tape.gradient(loss, [encode, decode])
            optimizer.apply_gradients(zip(grads, [encode, decode]))
    print("epoch", epoch, float(loss))
print("checksum", encode.numpy().tobytes().hex())
