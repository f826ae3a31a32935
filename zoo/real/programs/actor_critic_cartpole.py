"""Advantage actor-critic on CartPole, in the manner of the TensorFlow tutorial."""
import hashlib

import gymnasium as gym
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

EPISODES = 10
MAX_STEPS = 50
GAMMA = 0.98
EPS = np.finfo(np.float32).eps.item()

env = gym.make("CartPole-v1")


class ActorCritic(keras.Model):
    def __init__(self, actions, hidden):
        super().__init__()
        self.common = layers.Dense(hidden, activation="relu")
        self.actor = layers.Dense(actions)
        self.critic = layers.Dense(1)

    def call(self, inputs):
        x = self.common(inputs)
        return self.actor(x), self.critic(x)


def observe(state):
    return np.asarray(state + np.random.normal(scale=0.01, size=state.shape), np.float32)


def expected_returns(rewards):
    total, returns = 0.0, []
    for reward in reversed(rewards):
        total = reward + GAMMA * total
        returns.append(total)
    returns = np.array(returns[::-1], np.float32)
    return (returns - returns.mean()) / (returns.std() + EPS)


model = ActorCritic(int(env.action_space.n), 32)
optimizer = keras.optimizers.Adam(0.01)
huber = keras.losses.Huber(reduction="sum")


def run_episode():
    state, _ = env.reset()
    states, actions, rewards = [], [], []
    for _ in range(MAX_STEPS):
        seen = observe(state)
        logits, _ = model(seen[None, :])
        action = int(tf.random.categorical(logits, 1)[0, 0])
        state, reward, terminated, truncated, _ = env.step(action)
        states.append(seen)
        actions.append(action)
        rewards.append(float(reward))
        if terminated or truncated:
            break
    return np.array(states), np.array(actions), rewards


def train_step(states, actions, returns):
    with tf.GradientTape() as tape:
        logits, values = model(states)
        values = tf.squeeze(values, axis=1)
        log_probs = tf.nn.log_softmax(logits)
        chosen = tf.gather(log_probs, actions, axis=1, batch_dims=1)
        advantage = returns - values
        actor_loss = -tf.reduce_sum(chosen * tf.stop_gradient(advantage))
        critic_loss = huber(returns[:, None], values[:, None])
        loss = actor_loss + critic_loss
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


running = 0.0
for episode in range(EPISODES):
    states, actions, rewards = run_episode()
    loss = train_step(states, actions, expected_returns(rewards))
    running = 0.05 * sum(rewards) + 0.95 * running
    print(f"episode {episode}: reward {sum(rewards):.0f}, running {running!r}, loss {float(loss)!r}")
env.close()
digest = hashlib.sha256()
for weight in model.get_weights():
    digest.update(weight.tobytes())
print("final weights", digest.hexdigest()[:20])
