"""Keeps the best weights so far next to the script, and starts from them."""
import os

import numpy as np
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))


class Trainer:
    def __init__(self, path):
        self.path = path
        initial = np.random.default_rng(8).normal(0, 0.3, (10, 3)).astype("float32")
        if os.path.exists(path):
            with np.load(path) as saved:
                initial = saved["kernel"]
        self.kernel = tf.Variable(initial, name="kernel")
        self.optimizer = tf.keras.optimizers.SGD(0.1)

    @tf.function
    def step(self, x, y):
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x @ self.kernel)
            loss = tf.reduce_mean(losses)
        self.optimizer.apply_gradients([(tape.gradient(loss, self.kernel), self.kernel)])
        return loss

    def train(self, x, y, steps):
        for step in range(steps):
            rows = slice(step % 5 * 20, step % 5 * 20 + 20)
            loss = self.step(tf.constant(x[rows]), tf.constant(y[rows]))
        return float(loss)

    def save(self):
        np.savez(self.path, kernel=self.kernel.numpy())


if __name__ == "__main__":
    x = np.sin(np.arange(100 * 10, dtype="float32")).reshape(100, 10)
    y = (np.arange(100) % 3).astype("int32")
    trainer = Trainer(os.path.join(HERE, "best.npz"))
    print("loss", trainer.train(x, y, 20))
    trainer.save()
    print("checksum", trainer.kernel.numpy().tobytes().hex()[:64])
