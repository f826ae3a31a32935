"""What is watched beside the steps of training: results of evaluations, gradients of plain tensors, lookup tables. Each
program goes through many shapes of one of them; in each, one twin is made to differ at one place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support import FIRST, check, write
from twinrun.launch.recorded_twin import RecordedTwin

EVALUATIONS = """
import numpy as np
x = np.linspace(0, 1, 32, dtype="float32").reshape(8, 4)
y = x.sum(1, keepdims=True)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, kernel_initializer="ones")])
model.compile("sgd", "mse", metrics=["mae"])
model.predict(x, verbose=0)[:] = 0  # its result is the program's own
model.test_on_batch(x, y)
model.fit(x, y, epochs=1, batch_size=4, shuffle=False, validation_data=(x, y), verbose=0)
some = x.copy()
if first():
    some[0] += 1
model.evaluate(some, y, verbose=0)
model.predict_on_batch(x)
"""


def frames(folder: Path, *phases: str) -> list[tuple[int, list[str]]]:
    """The step of each frame of the first twin, and what it has under the phases."""
    found = []
    for frame in RecordedTwin("A", folder / "A").follow():
        pairs = zip(frame.layout.phases, frame.layout.names, strict=True)
        names = [name for phase, name in pairs if phase in phases]
        if names:
            found.append((frame.step, names))
    return found


def checked(folder: Path, program: str, *, differ: bool) -> dict[str, Any]:
    """With frames in full, in the folder `differ` or `equal`. Where they are equal, neither twin is the first."""
    head = FIRST if differ else "def first(): return False\n"
    options = ("--detail", "--dir", str(folder / ("differ" if differ else "equal")))
    document = check(write(folder, head + program), *options, arguments=[folder / "marker"]).document
    assert document["verdict"] == ("diverges" if differ else "repeats"), document["first_difference"]
    return document


@pytest.mark.parametrize("package", ["keras", "tf_keras as keras"])
def test_what_evaluate_and_predict_return_is_compared(tmp_path: Path, package: str) -> None:
    difference = checked(tmp_path, f"import {package}\n{EVALUATIONS}", differ=True)["first_difference"]
    assert (difference["step"], difference["phase"]) == (2, "metric")
    assert difference["tensor"] == "evaluate/loss" and difference["max_abs"] > 0.1
    metrics = frames(tmp_path / "differ", "metric")
    assert metrics[:2] == [(0, ["predict"]), (0, ["test_on_batch/loss", "test_on_batch/mae"])]
    evaluated = metrics.index((2, ["evaluate/loss", "evaluate/mae"]))
    assert set(metrics[evaluated - 1][1]) == {"epoch/loss", "epoch/mae", "epoch/val_loss", "epoch/val_mae"}


# Twenty steps: eager with a persistent tape, a tf.function with a tape and with tf.gradients, a jacobian, forward mode.
# Then a variable that is trained with a penalty on gradients: five steps more, and none for the penalty. Then saliency.
PLAIN = """
import tensorflow as tf
x = tf.reshape(tf.range(8.0), [4, 2]) / 8.0
w, b = tf.zeros([2, 1]), tf.zeros([1])
for step in range(1, 6):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([w, b])
        loss = tf.reduce_mean((x @ w + b - 1.0) ** 2)
    w, b = w - 0.1 * tape.gradient(loss, w), b - 0.1 * tape.gradient(loss, b)
    if step == 3 and first():
        w += 1.0
@tf.function
def traced(w, goal):
    with tf.GradientTape() as tape:
        tape.watch(w)
        loss = tf.reduce_mean((x @ w - goal) ** 2)
    return w - 0.1 * tape.gradient(loss, w), loss
@tf.function
def symbolic(w):
    return w - 0.1 * tf.gradients(tf.reduce_mean((x @ w - 1.0) ** 2), w)[0]
for _ in range(5):
    w, loss = traced(w, tf.constant(1.0))
for _ in range(4):
    w = symbolic(w)
for _ in range(3):
    with tf.GradientTape() as tape:
        tape.watch(w)
        out = x @ w
    w = w - 0.01 * tf.reduce_sum(tape.jacobian(out, w), [0, 1])
for _ in range(3):
    with tf.autodiff.ForwardAccumulator(w, tf.ones_like(w)) as accumulator:
        loss = tf.reduce_mean((x @ w - 1.0) ** 2)
    w = w - 0.1 * accumulator.jvp(loss)
weight = tf.Variable(w)
for _ in range(5):
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            out = x @ weight
        loss = tf.reduce_mean(out ** 2) + tf.reduce_mean(inner.gradient(out, x) ** 2)
    weight.assign_sub(0.1 * outer.gradient(loss, weight))
with tf.GradientTape() as tape:
    tape.watch(x)
    out = x @ weight
print(tape.gradient(out, x))
"""


def test_gradient_descent_on_plain_tensors_has_steps(tmp_path: Path) -> None:
    document = checked(tmp_path, PLAIN, differ=False)
    assert document["steps_compared"] == 26
    steps = frames(tmp_path / "equal", "gradient", "forward")
    assert [step for step, _ in steps] == list(range(1, 27))
    document = checked(tmp_path, PLAIN, differ=True)
    assert document["first_difference"]["step"] == 4
    assert document["first_difference"]["phase"] == "loss"


# One that is changed eagerly, one by a tf.function, one that never changes. The order of insertion is no difference.
TABLES = """
import tensorflow as tf
counts = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
sums = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, 0.0, empty_key=-1, deleted_key=-2)
words = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
vocabulary = tf.lookup.StaticHashTable(words, 0)
weight = tf.Variable([1.0])
other = first()
@tf.function
def add(key, value):
    sums.insert(key, sums.lookup(key) + value)
for step in range(1, 7):
    with tf.GradientTape() as tape:
        loss = weight * weight
    weight.assign_sub(0.1 * tape.gradient(loss, weight))
    for name in sorted(["x", "y", f"z{step}"], reverse=other):
        counts.insert(tf.constant([name]), tf.constant([step], tf.int64))
    counts.remove(tf.constant([f"z{step - 1}"]))
    add(tf.constant([step % 2], tf.int64), tf.constant([2.0 if other and step == 4 else 1.0]))
"""


def test_the_content_of_tables_is_compared(tmp_path: Path) -> None:
    difference = checked(tmp_path, TABLES, differ=True)["first_difference"]
    assert (difference["step"], difference["phase"], difference["tensor"]) == (4, "weights", "sums/values")
    assert (difference["max_abs"], difference["others"]) == (1.0, 0)
    names = dict(frames(tmp_path / "differ", "init", "weights"))
    assert "vocabulary/keys" in names[0] and {"counts/keys", "vocabulary/values"} <= set(names[4])
