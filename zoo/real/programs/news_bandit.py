"""Contextual bandit that picks articles for readers: Thompson-like exploration around a linear model."""
import hashlib
import random

import numpy as np
import tensorflow as tf

ARTICLES = 6
CONTEXT = 5
ROUNDS = 150


class Readers:
    """Readers arrive with a context and click with a hidden taste."""

    def __init__(self):
        self.rng = np.random.default_rng()
        self.taste = np.stack([np.sin(np.arange(CONTEXT) + a) for a in range(ARTICLES)])

    def arrive(self):
        return self.rng.normal(size=CONTEXT).astype("float32")

    def click(self, context, article):
        chance = 1.0 / (1.0 + np.exp(-self.taste[article] @ context))
        return float(random.random() < chance)


class Policy:
    def __init__(self):
        self.generator = tf.random.Generator.from_non_deterministic_state()
        self.weights = tf.Variable(tf.random.normal([ARTICLES, CONTEXT], stddev=0.05), name="weights")
        self.bias = tf.Variable(tf.zeros([ARTICLES]), name="bias")
        self.counts = np.zeros(ARTICLES)
        self.optimizer = tf.keras.optimizers.Adagrad(0.2)

    def scores(self, context):
        return tf.linalg.matvec(self.weights, context) + self.bias

    def choose(self, context):
        spread = 1.0 / np.sqrt(1.0 + self.counts)
        noise = self.generator.normal([ARTICLES]) * spread.astype("float32")
        return int(tf.argmax(self.scores(context) + noise))

    def learn(self, context, article, reward):
        self.counts[article] += 1
        with tf.GradientTape() as tape:
            logit = self.scores(context)[article]
            loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=reward, logits=logit)
        variables = [self.weights, self.bias]
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return float(loss)


def main():
    readers, policy = Readers(), Policy()
    clicks, losses = 0.0, []
    for _ in range(ROUNDS):
        context = readers.arrive()
        article = policy.choose(context)
        reward = readers.click(context, article)
        losses.append(policy.learn(context, article, reward))
        clicks += reward
    print("click rate", clicks / ROUNDS, "mean loss", repr(float(np.mean(losses[-50:]))))
    print("chosen", policy.counts.astype(int).tolist())
    weights = policy.weights.numpy().tobytes() + policy.bias.numpy().tobytes()
    print("final weights", hashlib.sha256(weights).hexdigest()[:20])


if __name__ == "__main__":
    main()
