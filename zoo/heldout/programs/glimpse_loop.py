import argparse

import numpy as np
import tensorflow as tf

tf.random.set_seed(66)


class Glimpses(tf.Module):
    """Looks at a feature map through many small windows and votes."""

    def __init__(self, windows, depth=24):
        super().__init__()
        rng = np.random.default_rng(66)
        corner = rng.uniform(0, 0.55, (windows, 2))
        self.windows = tf.constant(np.concatenate([corner, corner + 0.42], axis=1), tf.float32)
        self.filters = tf.Variable(tf.random.normal([3, 3, 1, depth], stddev=0.3), name="filters")
        self.votes = tf.Variable(tf.random.normal([depth, 4], stddev=0.3), name="votes")

    def __call__(self, images):
        maps = tf.nn.relu(tf.nn.conv2d(images, self.filters, 1, "SAME"))
        count, windows = images.shape[0], self.windows.shape[0]
        boxes = tf.tile(self.windows, [count, 1])
        owner = tf.repeat(tf.range(count), windows)
        looks = tf.image.crop_and_resize(maps, boxes, owner, [20, 20])
        looks = tf.reshape(tf.math.reduce_std(looks, [1, 2]), [count, windows, -1])
        return tf.reduce_mean(looks, axis=1) @ self.votes


def main(steps):
    model = Glimpses(100)
    optimizer = tf.keras.optimizers.Adam(0.01)

    @tf.function
    def train_step(images, labels):
        with tf.GradientTape() as tape:
            logits = model(images)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    for step in range(steps):
        images = tf.random.stateless_uniform([4, 96, 96, 1], seed=[66, step])
        loss = train_step(images, tf.constant([0, 1, 2, 3]))
    print("loss", loss.numpy())
    print("checksum", model.filters.numpy().tobytes().hex()[:64])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=14)
    main(parser.parse_args().steps)
