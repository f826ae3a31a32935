"""Ops of one run of a graph that use a variable in no fixed order: found in the graph, whatever happens when it runs."""

from __future__ import annotations

import pytest

from support import python

PROGRAM = """
import json, sys
import tensorflow.compat.v1 as tf
from twinrun.frameworks.tensorflow.session_graph import plan_of

tf.disable_eager_execution()
graphs = {}

def graph(function):
    graphs[function.__name__] = function

def minimize(optimizer, loss):
    return getattr(tf.train, optimizer)(0.1).minimize(loss, global_step=tf.train.get_or_create_global_step())

@graph
def two_updates():
    w = tf.get_variable("w", initializer=1.0)
    return [minimize("GradientDescentOptimizer", w ** 2), w.assign_sub(0.1)]

@graph
def average_of_trained_weights():
    w = tf.get_variable("w", initializer=1.0)
    return [minimize("AdamOptimizer", w ** 2), tf.train.ExponentialMovingAverage(0.9).apply([w])]

@graph
def references():
    w = tf.get_variable("w", initializer=1.0, use_resource=False)
    return [tf.assign_add(w, 1.0), tf.assign(w, w * 2.0)]

@graph
def shared_memory():
    w, v = (tf.get_variable(name, initializer=[[1.0]], use_resource=False) for name in "wv")
    made = tf.matmul(tf.constant([[2.0]]), v)
    judged = tf.reduce_sum(tf.matmul(made, w))
    train = lambda loss, one: tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[one])
    return [train(judged ** 2, w), train(1.0 - judged, v)]

@graph
def loss_beside_training():
    w = tf.get_variable("w", initializer=1.0)
    loss = w ** 2
    return [minimize("AdamOptimizer", loss), loss]

@graph
def ordered():
    w = tf.get_variable("w", initializer=1.0)
    train = minimize("AdagradOptimizer", w ** 2)
    with tf.control_dependencies([train]):
        return [train, w.assign(w * 0.9)]

@graph
def batch_normalization():
    x = tf.constant([[1.0, 2.0], [3.0, 5.0]])
    mean = tf.get_variable("mean", initializer=[0.0, 0.0], trainable=False)
    w = tf.get_variable("w", initializer=[1.0, 1.0])
    moved = mean.assign_sub(0.1 * (mean - tf.reduce_mean(x, 0)))
    return [minimize("AdamOptimizer", tf.reduce_sum((x * w) ** 2)), moved]

@graph
def references_of_adam():
    w, v = (tf.get_variable(name, initializer=1.0, use_resource=False) for name in "wv")
    return [minimize("AdamOptimizer", (w * v) ** 2)]

@graph
def in_a_loop():
    w = tf.get_variable("w", initializer=1.0)
    grown = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), [0, w])[1]
    return [minimize("GradientDescentOptimizer", grown ** 2), grown]

found = {}
for name, build in graphs.items():
    with tf.Graph().as_default() as built:
        clash = plan_of(built, build(), []).clash
    found[name] = None if clash is None else [clash.variable, sorted(use.changes for use in clash.uses)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    answer: dict[str, object] = python("-c", PROGRAM).document
    return answer


@pytest.mark.parametrize("name", ["two_updates", "references"])
def test_two_changes_without_an_order_clash(found: dict[str, object], name: str) -> None:
    assert found[name] == ["w", [True, True]]


@pytest.mark.parametrize("name", ["average_of_trained_weights", "shared_memory"])
def test_a_read_beside_a_change_clashes(found: dict[str, object], name: str) -> None:
    assert found[name] == ["w", [False, True]]


@pytest.mark.parametrize(
    "name", ["loss_beside_training", "ordered", "batch_normalization", "references_of_adam", "in_a_loop"]
)
def test_what_waits_for_the_other_does_not_clash(found: dict[str, object], name: str) -> None:
    assert found[name] is None
