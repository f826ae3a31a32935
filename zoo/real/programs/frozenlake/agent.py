"""REINFORCE on a small frozen lake."""
import argparse
import hashlib

import gymnasium as gym
import keras
import numpy as np
import tensorflow as tf

from policy import PolicyNetwork, discounted

EPISODES_PER_UPDATE = 4


def play(env, policy, explore, max_steps):
    observation, _ = env.reset()
    states, actions, rewards = [], [], []
    for _ in range(max_steps):
        if np.random.random() < explore:
            action = env.action_space.sample()
        else:
            action = policy.act(observation)
        following, reward, terminated, truncated, _ = env.step(int(action))
        states.append(observation)
        actions.append(int(action))
        rewards.append(float(reward) - 0.01)
        observation = following
        if terminated or truncated:
            break
    return states, actions, rewards


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=12)
    parser.add_argument("--max-steps", type=int, default=25)
    args = parser.parse_args()

    env = gym.make("FrozenLake-v1", is_slippery=True)
    policy = PolicyNetwork(env.observation_space.n, env.action_space.n)
    optimizer = keras.optimizers.Adam(0.02)
    returns = []
    for update in range(args.updates):
        states, actions, goals = [], [], []
        for _ in range(EPISODES_PER_UPDATE):
            s, a, r = play(env, policy, explore=0.2, max_steps=args.max_steps)
            states += s
            actions += a
            goals += discounted(r)
            returns.append(sum(r))
        with tf.GradientTape() as tape:
            chosen = policy.log_chances(np.array(states), np.array(actions))
            loss = -tf.reduce_mean(chosen * np.array(goals, "float32"))
        grads = tape.gradient(loss, policy.network.trainable_variables)
        optimizer.apply_gradients(zip(grads, policy.network.trainable_variables))
    print("mean return", repr(float(np.mean(returns))), "episodes", len(returns))
    weights = b"".join(w.tobytes() for w in policy.network.get_weights())
    print("final weights", hashlib.sha256(weights).hexdigest()[:20])


if __name__ == "__main__":
    main()
