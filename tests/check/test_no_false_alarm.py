"""A program that repeats is never said to differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import FIRST, check, write

PINNED = """
import numpy as np, tensorflow as tf
tf.random.set_seed(7)
rng = np.random.default_rng(7)
weight = tf.Variable(tf.random.normal([16, 4]), name="weight")
data = tf.data.Dataset.from_tensor_slices(rng.normal(size=(64, 16)).astype("float32")).shuffle(64, seed=1).batch(8)
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.nn.dropout(x, 0.2, seed=3) @ weight) ** 2)
    weight.assign_sub(0.1 * tape.gradient(loss, weight))
    return loss
for epoch in range(3):
    for x in data:
        step(x)
"""


@pytest.fixture(scope="module")
def pinned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("pinned"), PINNED)


# The first with every change, the others now and then.
TURNS = [1, *(pytest.param(turn, marks=pytest.mark.slow) for turn in range(2, 21))]


@pytest.mark.parametrize("turn", TURNS)
def test_twenty_checks_in_a_row_of_a_pinned_program_all_say_that_it_repeats(pinned: Path, turn: int) -> None:
    found = check(pinned).document
    assert (found["verdict"], found["steps_compared"], found["first_difference"]) == ("repeats", 24, None)


GARBAGE = """
import gc, os, random, threading, time
import keras
keras.utils.set_random_seed(1)
stop = threading.Event()
def litter():
    # Another thread makes objects at its own pace, so that the collector runs at other moments in each twin.
    kept = []
    pace = random.Random(os.urandom(8))
    while not stop.is_set():
        kept = [[] for _ in range(pace.randrange(2000))]
        time.sleep(pace.random() / 300)
threading.Thread(target=litter, daemon=True).start()
for trial in range(6):
    # A model is a knot of objects that refer to each other: it lives until the collector comes.
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    model.fit(keras.ops.ones((40, 3)), keras.ops.ones((40, 2)), batch_size=4, verbose=0)
stop.set()
"""


@pytest.mark.slow  # the next one fixes the moments, and test_variables has more of them
def test_when_a_dropped_model_is_collected_does_not_matter(tmp_path: Path) -> None:
    found = check(write(tmp_path, GARBAGE)).document
    assert (found["verdict"], found["steps_compared"]) == ("repeats", 60), found["first_difference"]


FORGETFUL = (
    FIRST
    + """
import gc
import keras
keras.utils.set_random_seed(1)
gc.disable()
drop = gc.collect if first() else int  # one twin collects at once what it drops, the other never does
for trial in range(3):
    keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(5)])  # dropped before anything was trained
    drop()
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    model.fit(keras.ops.ones((12, 3)), keras.ops.ones((12, 2)), batch_size=4, verbose=0)
    model.set_weights([2 * weight for weight in model.get_weights()])  # after the last look at it
    model = None
    keras.utils.clear_session(free_memory=False)
    drop()
"""
)


def test_a_model_that_is_dropped_may_be_collected_at_once_or_never(tmp_path: Path) -> None:
    found = check(write(tmp_path, FORGETFUL), arguments=[tmp_path / "marker"]).document
    assert (found["verdict"], found["steps_compared"]) == ("repeats", 9), found["first_difference"]
    # Keras imports TensorFlow before it is ready itself: no point may be missed for that.
    assert not [note for note in found["notes"] if "this release has no" in note]
