"""Draws once from every stream under each pin that it is given, and prints what came of it. After `own:` in front of a pin it
sets seeds of its own first."""

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
        "augmentation": keras.layers.RandomBrightness(0.5, (-99.0, 99.0), name="light")(np.zeros((4, 4, 3)), training=True).numpy(),
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
for word in sys.argv[1:]:
    _pin(parse_pin(word.removeprefix("own:")))
    answers[word] = drawn(own_seeds=word.startswith("own:"))
print(json.dumps(answers))
