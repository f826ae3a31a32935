"""Deep Q-learning on CartPole with a replay buffer and a target network."""
import hashlib
import random
from collections import deque

import gymnasium as gym
import keras
import numpy as np
import tensorflow as tf

GAMMA = 0.97
BATCH = 32
EPISODES = 12
MAX_STEPS = 60
WARMUP = 64


def q_network(states, actions):
    return keras.Sequential(
        [
            keras.Input((states,)),
            keras.layers.Dense(24, activation="relu"),
            keras.layers.Dense(24, activation="relu"),
            keras.layers.Dense(actions),
        ]
    )


class Agent:
    def __init__(self, env):
        self.env = env
        self.actions = int(env.action_space.n)
        self.model = q_network(env.observation_space.shape[0], self.actions)
        self.target = q_network(env.observation_space.shape[0], self.actions)
        self.target.set_weights(self.model.get_weights())
        self.optimizer = keras.optimizers.Adam(0.002)
        self.memory = deque(maxlen=2000)
        self.epsilon = 1.0

    def act(self, state):
        if np.random.rand() < self.epsilon:
            return int(self.env.action_space.sample())
        values = self.model(state[None, :])
        return int(np.argmax(values[0]))

    @tf.function(reduce_retracing=True)
    def update(self, states, actions, goals):
        with tf.GradientTape() as tape:
            values = self.model(states)
            chosen = tf.reduce_sum(values * tf.one_hot(actions, self.actions), axis=1)
            loss = tf.reduce_mean(tf.square(goals - chosen))
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    def replay(self):
        batch = random.sample(self.memory, BATCH)
        states, actions, rewards, following, done = map(np.array, zip(*batch))
        future = self.target(following).numpy().max(axis=1)
        goals = rewards + GAMMA * future * (1.0 - done)
        return self.update(
            tf.constant(states, tf.float32), tf.constant(actions), tf.constant(goals, tf.float32)
        )


def main():
    env = gym.make("CartPole-v1")
    agent = Agent(env)
    scores = []
    for episode in range(EPISODES):
        state, _ = env.reset()
        score = 0.0
        for _ in range(MAX_STEPS):
            action = agent.act(state)
            following, reward, terminated, truncated, _ = env.step(action)
            agent.memory.append((state, action, reward, following, float(terminated)))
            state = following
            score += reward
            if len(agent.memory) >= WARMUP:
                agent.replay()
            if terminated or truncated:
                break
        agent.epsilon = max(0.1, agent.epsilon * 0.9)
        if episode % 4 == 3:
            agent.target.set_weights(agent.model.get_weights())
        scores.append(score)
    env.close()
    print("scores", scores)
    weights = b"".join(w.tobytes() for w in agent.model.get_weights())
    print("final weights", hashlib.sha256(weights).hexdigest()[:20])


if __name__ == "__main__":
    main()
