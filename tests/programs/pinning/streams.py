"""Draws once from every stream under each pin that it is given, with and without seeds of its own, and prints what came
of it."""

import json
import random
import sys
import warnings

import keras
import numpy as np
import tensorflow as tf

from twinrun.protocol.registry import parse_pin
from twinrun.twin.pin import _pin


def drawn(own_seeds):
    if own_seeds:
        keras.utils.set_random_seed(1)
    numbers = tf.data.Dataset.range(20)
    dense = keras.layers.Dense(4, name="dense")
    dense.build((None, 4))
    found = {
        "weights": dense.kernel.numpy(),
        "dropout": keras.layers.Dropout(0.5, name="dropout")(np.ones((4, 8), "float32"), training=True).numpy(),
        "augmentation": keras.layers.RandomRotation(0.5, name="turn")(np.eye(8)[..., None], training=True).numpy(),
        "shuffle": np.array(list(numbers.shuffle(20).as_numpy_iterator())),
        "map": np.array(list(numbers.map(lambda _: tf.random.uniform([])).as_numpy_iterator())),
        "given": np.array(list(numbers.shuffle(20, seed=3).as_numpy_iterator())),
        "tf": tf.random.normal([4]).numpy(),
        "numpy": np.random.normal(size=4),
        "python": np.array(random.random()),
    }
    return {name: array.ravel().tolist() for name, array in found.items()}


warnings.simplefilter("ignore")  # what a running process cannot pin
answers = {}
for text in sys.argv[1:]:
    for own_seeds in (False, True):
        _pin(parse_pin(text))
        answers[f"{text} {own_seeds}"] = drawn(own_seeds)
print(json.dumps(answers))
