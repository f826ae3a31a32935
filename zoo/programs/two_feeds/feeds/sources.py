import numpy as np
import tensorflow as tf

SPEC = (tf.TensorSpec([64], tf.float32), tf.TensorSpec([], tf.int32))


class Feeds:
    """Three stations, each sending its own kind of wave with some noise on it."""

    def __init__(self, seed, length):
        self.rng = np.random.default_rng(seed)
        self.length = length

    def station(self, number):
        t = np.arange(64) / 64.0
        for _ in range(self.length):
            phase = self.rng.uniform(0, 2 * np.pi)
            wave = np.sin(2 * np.pi * (number + 1) * t + phase)
            wave = wave + 0.3 * self.rng.standard_normal(64)
            yield wave.astype("float32"), int(number)

    def _open(self, number):
        return tf.data.Dataset.from_generator(self.station, args=(number,), output_signature=SPEC)

    def dataset(self):
        return tf.data.Dataset.range(3).interleave(
            self._open,
            cycle_length=3,
            num_parallel_calls=3,
            deterministic=True,
        )
