"""The server: picks clients, lets them train, averages what they send."""
import random

import keras
import numpy as np
import tensorflow as tf


def network(features):
    model = keras.Sequential(
        [
            keras.Input((features,)),
            keras.layers.Dense(12, activation="relu", kernel_initializer="he_uniform"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss=keras.losses.BinaryCrossentropy(from_logits=True))
    return model


def private(update, scale=0.01):
    return [w + np.random.laplace(scale=scale, size=w.shape).astype("float32") for w in update]


def local_round(model, weights, client):
    model.set_weights(weights)
    for x, y in client.batches(16):
        noisy = x + tf.random.normal(x.shape, stddev=0.01)
        loss = model.train_on_batch(noisy, y)
    return private(model.get_weights()), float(loss)


def federate(clients, features, rounds, share):
    model = network(features)
    weights = model.get_weights()
    history = []
    for _ in range(rounds):
        chosen = random.sample(sorted(clients), k=max(1, int(share * len(clients))))
        results = [local_round(model, weights, clients[key]) for key in chosen]
        weights = [np.mean(parts, axis=0) for parts in zip(*(update for update, _ in results))]
        history.append(float(np.mean([loss for _, loss in results])))
    model.set_weights(weights)
    return model, history
