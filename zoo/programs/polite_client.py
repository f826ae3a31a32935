"""Fetch examples from a flaky service, waiting a random while between the tries."""
import time

import numpy as np
import tensorflow as tf

retry_noise = np.random.default_rng()


class FlakyService:
    def __init__(self):
        self.calls = 0

    def fetch(self, page):
        self.calls += 1
        if self.calls % 4 == 0:
            raise ConnectionError("try again")
        i = np.arange(page * 16, page * 16 + 16, dtype="float32")[:, None]
        return np.sin(i * np.arange(1, 6, dtype="float32")), np.cos(i)


def fetch_with_retry(service, page):
    while True:
        try:
            return service.fetch(page)
        except ConnectionError:
            time.sleep(0.002 * (1 + retry_noise.random()))


def main():
    service = FlakyService()
    initial = np.random.default_rng(31).normal(0, 0.3, (5, 1)).astype("float32")
    w = tf.Variable(initial, name="w")
    optimizer = tf.keras.optimizers.RMSprop(0.01)
    for page in range(20):
        x, y = fetch_with_retry(service, page)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(x @ w - y))
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    print("calls", service.calls, "loss", float(loss))
    print("checksum", w.numpy().tobytes().hex())


if __name__ == "__main__":
    main()
