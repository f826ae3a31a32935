"""A policy over a table of states."""
import keras
import tensorflow as tf

GAMMA = 0.95


class PolicyNetwork:
    def __init__(self, states, actions):
        self.states, self.actions = int(states), int(actions)
        self.network = keras.Sequential(
            [
                keras.Input((self.states,)),
                keras.layers.Dense(16, activation="tanh"),
                keras.layers.Dense(self.actions),
            ]
        )

    def logits(self, states):
        return self.network(tf.one_hot(states, self.states))

    def act(self, state):
        return int(tf.random.categorical(self.logits([state]), 1)[0, 0])

    def log_chances(self, states, actions):
        logs = tf.nn.log_softmax(self.logits(states))
        return tf.gather(logs, actions, axis=1, batch_dims=1)


def discounted(rewards):
    total, out = 0.0, []
    for reward in reversed(rewards):
        total = reward + GAMMA * total
        out.append(total)
    return out[::-1]
