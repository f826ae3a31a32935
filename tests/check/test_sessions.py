"""Programs that build a graph and run it in sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import FIRST, check, outputs, python, twinrun, write

# Random ops with seeds of their own and of the graph, sparse feeds, reference variables, a variable without a value,
# copies to a target network, two optimizers that take turns: and what was drawn and trained is printed, bit for bit.
SHAPES = """
import numpy as np, tensorflow as tf
tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.set_random_seed(5)
x = tf1.sparse_placeholder(tf.float32, name="x")
w = tf1.get_variable("w", [4, 2], use_resource=False)
v = tf1.get_variable("v", [2, 1], use_resource=True)
target = tf1.get_variable("target", [2, 1], use_resource=True)
empty = [tf1.get_variable(f"empty{kind}", [3], use_resource=kind) for kind in (False, True)]
noise = tf1.random_normal([2], name="noise")
out = tf1.nn.dropout(tf1.sparse_tensor_dense_matmul(x, w) @ v, rate=0.5)
loss = tf1.reduce_mean(out ** 2, name="loss")
first = tf1.train.AdamOptimizer(0.1).minimize(loss, var_list=[w])
second = tf1.assign(v, v - 0.1 * tf1.gradients(loss, v)[0])
copied, average = tf1.assign(target, v), tf1.train.ExponentialMovingAverage(0.9).apply([v])
s = tf1.Session()
s.run(tf1.variables_initializer([one for one in tf1.global_variables() if one not in empty]))
feed = {x: tf1.SparseTensorValue([[0, 0], [1, 2]], np.float32([1, 2]), [2, 4])}
for i in range(6):
    print(s.run({"first": first, "seen": [loss, x]}, feed)["seen"][0].tobytes(), s.run(noise).tobytes())
    s.run(second, feed)
    s.run(average)
    if i % 2:
        s.run(copied)
print([one.tobytes() for one in s.run([w, v, target])])
"""


def test_a_run_that_updates_is_a_step_and_watching_it_changes_no_bit(tmp_path: Path) -> None:
    program = write(tmp_path, SHAPES)
    found = check(program).document
    assert (found["verdict"], found["steps_compared"]) == ("repeats", 6), found["first_difference"]
    assert outputs(found) == [python(program).out] * 2


MONITORED = (
    FIRST
    + """
import numpy as np, tensorflow as tf
tf1 = tf.compat.v1
data = np.arange(24, dtype="float32").reshape(12, 2)
if first():
    data[5] += 1
with tf.Graph().as_default():
    x = tf1.data.make_one_shot_iterator(tf.data.Dataset.from_tensor_slices(data).batch(2)).get_next()
    w = tf1.get_variable("w", [2, 1], initializer=tf1.ones_initializer())
    loss = tf.reduce_mean((x @ w) ** 2)
    step = tf1.train.get_or_create_global_step()
    train = tf1.train.GradientDescentOptimizer(1e-4).minimize(loss, global_step=step)
    with tf1.train.MonitoredTrainingSession() as s:
        while not s.should_stop():
            s.run(train)
"""
)


def test_what_a_run_draws_itself_is_its_batch(tmp_path: Path) -> None:
    answer = check(write(tmp_path, MONITORED), arguments=[tmp_path / "marker"])
    assert answer.code == 1
    difference = answer.document["first_difference"]
    assert (difference["step"], difference["phase"]) == (3, "batch")
    assert difference["tensor"] == "IteratorGetNext"


UNSEEDED = """
import numpy as np, tensorflow as tf
tf.random.set_seed(1)  # which no op of a graph knows
with tf.Graph().as_default(), tf.compat.v1.Session() as s:
    w = tf.compat.v1.get_variable("w", initializer=tf.ones([2, 1]))
    x = tf.compat.v1.placeholder(tf.float32, name="x")
    noisy = x + tf.random.normal([1, 2])
    train = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(noisy @ w))
    s.run(tf.compat.v1.global_variables_initializer())
    for _ in range(3):
        s.run(train, {x: np.ones([1, 2])})
"""


@pytest.mark.slow
def test_a_graph_without_a_seed_is_named_with_the_seed_that_reaches_it(tmp_path: Path) -> None:
    answer = twinrun("check", "--output-format", "json", write(tmp_path, UNSEEDED))
    cause = answer.document["findings"][0]
    assert (answer.code, cause["code"], cause["line"], cause["confirmed"]) == (1, "TW104", 7, True)
    assert "tf.compat.v1.set_random_seed(1)" in cause["fix"]


def test_numbers_that_nobody_has_seen_are_not_compared(tmp_path: Path) -> None:
    text = """
        import tensorflow as tf
        with tf.Graph().as_default(), tf.compat.v1.Session() as s:
            print(s.run(tf.random.normal([3])))
        """
    answer = check(write(tmp_path, text))
    assert (answer.code, answer.document["reason_kind"]) == (2, "no-step")


# A streaming metric keeps its state in local variables; what a run only fetches is an evaluation.
EVALUATED = (
    FIRST
    + """
import numpy as np, tensorflow as tf
tf1 = tf.compat.v1
data = np.arange(8, dtype="float32").reshape(4, 2)
with tf.Graph().as_default(), tf1.Session() as s:
    x = tf1.placeholder(tf.float32, [None, 2], name="x")
    w = tf1.get_variable("w", initializer=tf.ones([2, 1]))
    out = tf.reduce_mean(x @ w, name="out")
    _, update = tf1.metrics.mean(out, name="mean")
    train = tf1.train.GradientDescentOptimizer(1e-3).minimize(out ** 2)
    s.run([tf1.global_variables_initializer(), tf1.local_variables_initializer()])
    for step in range(1, 5):
        s.run(train, {x: data})
        shown = data + (step == 3 and sys.argv[1] == "fetched" and first())
        s.run(out, {x: shown})
        counted = data + (step == 2 and sys.argv[1] == "local" and first())
        s.run(update.op, {x: counted})
"""
)


@pytest.mark.parametrize(
    ("what", "expected"),
    [("fetched", (3, "metric", "out")), ("local", (2, "weights", "mean/total"))],
)
def test_local_variables_and_evaluations_are_compared(
    tmp_path: Path, what: str, expected: tuple[int, str, str]
) -> None:
    found = check(write(tmp_path, EVALUATED), arguments=[what, tmp_path / "marker"]).document
    assert (found["verdict"], found["steps_compared"]) == ("diverges", expected[0] - 1)
    difference = found["first_difference"]
    assert (difference["step"], difference["phase"], difference["tensor"]) == expected
