"""Candidates that a loss is sampled with are random numbers like others: they can be frozen wherever they are drawn."""

from __future__ import annotations

from pathlib import Path

from support import check, write

SAMPLERS = """
import tensorflow as tf
import twinrun

words = tf.constant([[3], [5]], tf.int64)
weights, biases = tf.ones([10_000, 4]), tf.zeros([10_000])

@tf.function
def losses(inputs):
    given = {"labels": words, "inputs": inputs, "num_sampled": 4, "num_classes": 10_000}
    return tf.nn.nce_loss(weights, biases, **given), tf.nn.sampled_softmax_loss(weights, biases, **given)

for _ in range(2):
    for name in ("uniform", "log_uniform", "learned_unigram", "fixed_unigram"):
        more = {"unigrams": [1.0] * 10_000} if name == "fixed_unigram" else {}
        sampler = getattr(tf.random, f"{name}_candidate_sampler")
        twinrun.probe(name, sampler(words, 1, 8, True, 10_000, **more).sampled_candidates)
    twinrun.probe("losses", losses(tf.ones([2, 4])))
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    drawn = tf.random.log_uniform_candidate_sampler([[3]], 1, 8, True, 10_000).sampled_candidates
    twinrun.probe("graph", session.run(drawn))
"""


def test_candidate_samplers_can_be_frozen_eagerly_in_functions_and_in_graphs(tmp_path: Path) -> None:
    document = check(write(tmp_path, SAMPLERS), "--freeze", "tf-random").document
    assert document["verdict"] == "repeats", document["first_difference"]
