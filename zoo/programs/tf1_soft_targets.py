"""Double Q-learning on a graph of TensorFlow 1: each run trains the online network and pulls the target after it."""

import random

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

STATES, ACTIONS, HIDDEN = 12, 4, 96
DISCOUNT, PULL = 0.95, 0.05


def network(state, scope):
    with tf.variable_scope(scope):
        first = tf.get_variable("first", [STATES, HIDDEN], initializer=tf.glorot_uniform_initializer(seed=3))
        second = tf.get_variable("second", [HIDDEN, ACTIONS], initializer=tf.glorot_uniform_initializer(seed=4))
    return tf.matmul(tf.nn.relu(tf.matmul(state, first)), second), [first, second]


def build():
    state = tf.placeholder(tf.float32, [None, STATES])
    following = tf.placeholder(tf.float32, [None, STATES])
    action = tf.placeholder(tf.int32, [None])
    reward = tf.placeholder(tf.float32, [None])
    values, online = network(state, "online")
    target_values, target = network(following, "target")
    goal = reward + DISCOUNT * tf.stop_gradient(tf.reduce_max(target_values, axis=1))
    chosen = tf.reduce_sum(values * tf.one_hot(action, ACTIONS), axis=1)
    loss = tf.reduce_mean(tf.square(goal - chosen))
    train = tf.train.AdamOptimizer(0.003).minimize(loss, var_list=online)
    pull = tf.group(*(slow.assign_add(PULL * (fast - slow)) for fast, slow in zip(online, target)))
    return (state, following, action, reward), loss, train, pull


def main():
    random.seed(0)
    rng = np.random.default_rng(0)
    places, loss, train, pull = build()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(40):
            batch = (
                rng.normal(size=(128, STATES)),
                rng.normal(size=(128, STATES)),
                rng.integers(0, ACTIONS, 128),
                rng.normal(size=128),
            )
            _, _, value = session.run([train, pull, loss], dict(zip(places, batch)))
            if step % 10 == 0:
                print(f"step {step}: loss {value:.6f}")


if __name__ == "__main__":
    main()
