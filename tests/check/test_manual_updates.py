"""Updates that no optimizer makes: each is a step, whoever made the variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support import check, write
from twinrun.launch.recorded_twin import RecordedTwin

START = """
import keras, tensorflow as tf
keras.utils.set_random_seed(1)
def model():
    return keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, activation="relu"), keras.layers.Dense(1)])
def gradients(model, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - 1.0) ** 2)
    return tape.gradient(loss, model.trainable_variables)
def descend(model, found):
    for variable, gradient in zip(model.trainable_variables, found):
        variable.assign_sub(0.1 * gradient)
x = tf.reshape(tf.range(8.0), [4, 2]) / 8.0
"""

# An optimizer that is made and never used; then variables that die, so that others get their addresses.
EAGER = """
one, never_used = model(), keras.optimizers.Adam()
for _ in range(5):
    descend(one, gradients(one, x))
for _ in range(7):
    weight = tf.Variable([[0.5], [0.25]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ weight) ** 2)
    weight.assign_sub(tape.gradient(loss, weight))
    del weight, tape, loss
"""

# In a method that is a tf.function: inside it, and outside with what it returns.
FUNCTIONS = """
class Trainer:
    @tf.function
    def inside(self, images, *, scale):
        descend(one, gradients(one, images * scale))
    @tf.function(input_signature=[tf.TensorSpec([4, 2])])
    def outside(self, features):
        return gradients(two, features)
one, two, trainer = model(), model(), Trainer()
for _ in range(4):
    trainer.inside(x, scale=tf.constant(2.0))
for _ in range(3):
    descend(two, trainer.outside(x))
"""

# One by an optimizer, one by hand, and an average that follows: a round of them is a step. Weights that get no gradient at
# first, behind a layer of zeros, are moved by the optimizer only later, and still by no hand.
ROUNDS = """
one, two, average, optimizer = model(), model(), model(), keras.optimizers.SGD(0.1)
one.layers[-1].kernel.assign(tf.zeros([3, 1]))
for _ in range(4):
    optimizer.apply_gradients(zip(gradients(one, x), one.trainable_variables))
    descend(two, gradients(two, x))
    for follower, leader in zip(average.weights, one.weights):
        follower.assign(0.9 * follower + 0.1 * leader)
"""


def steps(folder: Path) -> dict[int, Any]:
    """The layout of each step of the first twin."""
    return {frame.step: frame.layout for frame in RecordedTwin("A", folder / "A").follow() if frame.span}


@pytest.mark.parametrize(("program", "count"), [(EAGER, 12), (FUNCTIONS, 7), (ROUNDS, 4)])
def test_every_manual_update_is_a_step(tmp_path: Path, program: str, count: int) -> None:
    found = check(write(tmp_path, START + program), "--detail", "--dir", str(tmp_path / "out")).document
    assert (found["verdict"], found["steps_compared"]) == ("repeats", count), found["first_difference"]
    layouts = steps(tmp_path / "out")
    assert list(layouts) == list(range(1, count + 1))
    if program == FUNCTIONS:
        names = [{name for phase, name in layout.places if phase == "batch"} for layout in layouts.values()]
        assert names == [{"images", "scale"}] * 4 + [{"features"}] * 3
