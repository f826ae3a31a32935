"""A contextual bandit: choose one of five offers, learn a reward model from the outcome."""
import argparse

import numpy as np
import tensorflow as tf


class Market:
    def __init__(self, offers):
        self.offers = offers
        self.random = np.random.RandomState()

    def visitor(self):
        return self.random.uniform(-1, 1, size=(1, 6)).astype("float32")

    def reward(self, context, offer):
        return float(np.tanh(context[0, offer % 6] + 0.1 * offer))


class RewardModel(tf.Module):
    def __init__(self, offers):
        super().__init__(name="reward_model")
        self.kernel = tf.Variable(tf.zeros([6, offers]), name="kernel")
        self.bias = tf.Variable(tf.zeros([offers]), name="bias")

    def __call__(self, context):
        return context @ self.kernel + self.bias


def play(rounds, offers, rate):
    market, model = Market(offers), RewardModel(offers)
    optimizer = tf.keras.optimizers.SGD(rate)
    total = 0.0
    for turn in range(rounds):
        context = market.visitor()
        offer = turn % offers if turn < offers else int(tf.argmax(model(context), axis=1)[0])
        reward = market.reward(context, offer)
        total += reward
        with tf.GradientTape() as tape:
            loss = tf.square(model(context)[0, offer] - reward)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return model, total


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--offers", type=int, default=5)
    parser.add_argument("--rate", type=float, default=0.2)
    args = parser.parse_args()
    model, total = play(args.rounds, args.offers, args.rate)
    print("reward", total)
    print("checksum", model.kernel.numpy().tobytes().hex()[:48])
