import threading

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(22)


class Actor(threading.Thread):
    """Plays a pole-like system and writes what it saw into a ring of fixed size."""

    def __init__(self, ring, steps):
        super().__init__(daemon=True)
        self.ring, self.steps = ring, steps

    def run(self):
        rng = np.random.default_rng(22)
        state = np.zeros(4, "float32")
        for number in range(self.steps):
            push = rng.normal(size=4).astype("float32")
            following = np.tanh(0.9 * state + 0.3 * push)
            self.ring[number % len(self.ring)] = np.concatenate([state, following])
            state = following


class Learner:
    def __init__(self, capacity=64):
        self.ring = np.zeros((capacity, 8), "float32")
        self.model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(4)])
        self.optimizer = keras.optimizers.Adam(0.01)

    def step(self):
        seen = self.ring.copy()
        with tf.GradientTape() as tape:
            guess = self.model(seen[:, :4], training=True)
            loss = tf.reduce_mean(tf.square(guess - seen[:, 4:]))
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return float(loss)

    def run(self, steps):
        actor = Actor(self.ring, steps=60_000)
        actor.start()
        losses = [self.step() for _ in range(steps)]
        actor.join()
        return losses


learner = Learner()
losses = learner.run(20)
print("first", losses[0], "last", losses[-1])
weights = learner.model.get_weights()
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in weights)).hex())
