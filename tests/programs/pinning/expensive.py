"""Loads its data in parallel through a map that holds a random op: op determinism makes that map sequential."""

import time

import keras
import numpy as np
import tensorflow as tf


def load(number):
    time.sleep(0.03)
    return np.float32(number)


def element(number):
    values = tf.random.uniform([8]) + tf.numpy_function(load, [number], tf.float32)
    return tf.ensure_shape(values, [8]), tf.reduce_sum(values)


data = tf.data.Dataset.range(400).map(element, num_parallel_calls=8).batch(4)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(1e-9), "mse")
model.fit(data, steps_per_epoch=40, verbose=0)
