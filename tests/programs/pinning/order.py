"""Asks tf.data for the order of completion, plain, pinned without op determinism, and plain again."""

import json
import time
import warnings

import tensorflow as tf
from tensorflow.python.framework.config import is_op_determinism_enabled

import twinrun
from twinrun.twin.readback import read_back


def slow(number):
    time.sleep(0.03 if number % 4 == 0 else 0)
    return number


def unordered():
    """Elements as they come, asked for in both places where that can be asked for."""
    options = tf.data.Options()
    options.deterministic = False
    data = tf.data.Dataset.range(24).with_options(options)
    data = data.map(lambda v: tf.numpy_function(slow, [v], tf.int64), num_parallel_calls=4, deterministic=False)
    return [int(number) for number in data.as_numpy_iterator()]


# `deterministic=False` is overridden, with op determinism left off.
found = {"plain": unordered()}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    with twinrun.pinned(5, allow="TW406") as report:
        found["pinned"] = unordered()
        found["op determinism"] = is_op_determinism_enabled()
        found["read back"] = read_back()["tf-data-order"].state
    found["afterwards"] = unordered()
print(json.dumps(found))
