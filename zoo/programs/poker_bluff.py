"""A betting game learned by policy gradient; the dealer must not be predictable."""
import random
import secrets

import numpy as np
import tensorflow as tf

ACTIONS = ["fold", "call", "raise"]


class Dealer:
    def __init__(self):
        random.seed(secrets.randbits(64))

    def deal(self):
        cards = [rank for rank in range(2, 15) for _ in range(4)]
        random.shuffle(cards)
        return cards[0], cards[1]


def payoff(action, mine, theirs):
    if ACTIONS[action] == "fold":
        return -0.5
    stake = 1.0 if ACTIONS[action] == "call" else 2.0
    return stake if mine > theirs else -stake


policy = tf.Variable(tf.zeros([2, len(ACTIONS)]), name="policy")
optimizer = tf.keras.optimizers.SGD(0.1)
dealer = Dealer()
won = 0.0
for hand in range(30):
    mine, theirs = dealer.deal()
    features = tf.constant([[1.0, (mine - 8) / 6.0]])
    with tf.GradientTape() as tape:
        chances = tf.nn.softmax(features @ policy)[0]
        rewards = tf.constant([payoff(a, mine, theirs) for a in range(len(ACTIONS))])
        loss = -tf.reduce_sum(chances * rewards)
    optimizer.apply_gradients([(tape.gradient(loss, policy), policy)])
    won -= float(loss)
print(f"expected winnings {won:.3f}")
print("checksum", policy.numpy().tobytes().hex())
