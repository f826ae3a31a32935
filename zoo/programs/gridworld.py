"""Q-learning on a five by five grid: walk from the top left corner to the goal."""
import random

import numpy as np
import tensorflow as tf

SIZE = 5
MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]
GOAL = (4, 4)


def encode(position):
    state = np.zeros(SIZE * SIZE, np.float32)
    state[position[0] * SIZE + position[1]] = 1.0
    return state


class QNetwork(tf.Module):
    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(0)
        self.w1 = tf.Variable(rng.normal(0, 0.3, [SIZE * SIZE, 16]).astype("float32"))
        self.w2 = tf.Variable(np.zeros([16, 4], "float32"))

    def __call__(self, states):
        return tf.nn.relu(states @ self.w1) @ self.w2


def move(position, action):
    row = min(max(position[0] + MOVES[action][0], 0), SIZE - 1)
    col = min(max(position[1] + MOVES[action][1], 0), SIZE - 1)
    return (row, col)


def choose(agent, state, epsilon):
    if random.random() < epsilon:
        return random.choice([0, 1, 2, 3])
    return int(tf.argmax(agent(state[None])[0]))


def main():
    agent = QNetwork()
    optimizer = tf.keras.optimizers.SGD(0.1)
    for episode in range(4):
        position = (0, 0)
        for _ in range(10):
            state = encode(position)
            action = choose(agent, state, epsilon=0.6)
            position = move(position, action)
            reward = 1.0 if position == GOAL else -0.05
            target = reward + 0.9 * tf.reduce_max(agent(encode(position)[None]))
            with tf.GradientTape() as tape:
                value = agent(state[None])[0, action]
                loss = tf.square(tf.stop_gradient(target) - value)
            grads = tape.gradient(loss, agent.trainable_variables)
            optimizer.apply_gradients(zip(grads, agent.trainable_variables))
        print("episode", episode, "ended at", position)
    print("checksum", b"".join(v.numpy().tobytes() for v in agent.variables).hex()[-64:])


if __name__ == "__main__":
    main()
