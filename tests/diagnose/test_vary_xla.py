"""`--vary xla` on a processor, where XLA compiles as well and gives other bits than the ops by themselves."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from support import twinrun, write
from twinrun.launch.interventions import parse_freeze

PROGRAM = """
import tensorflow as tf
x = tf.random.stateless_normal([64, 100], seed=(1, 2))
weight = tf.Variable(tf.random.stateless_normal([100, 100], seed=(3, 4)), name="weight")

@tf.function(jit_compile=True)  # innocent
def doubled(values):
    return values * 2.0

@tf.function(jit_compile=True)  # guilty
def probabilities(values):
    return tf.nn.softmax(tf.tanh(values @ weight) @ weight)

for step in range(3):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(probabilities(doubled(x)) ** 2)
    weight.assign_sub(100.0 * tape.gradient(loss, weight))
"""


@pytest.mark.slow
def test_the_function_whose_bits_depend_on_xla_is_named(tmp_path: Path) -> None:
    program = write(tmp_path, PROGRAM)
    lines = {name: n for n, line in enumerate(PROGRAM.splitlines(), 1) if (name := line.partition("# ")[2])}
    found = twinrun("check", "--vary", "xla", "--output-format", "json", program).document
    (finding,) = found["findings"]
    assert (finding["code"], finding["line"], finding["confirmed"]) == ("TW405", lines["guilty"], True)
    commands = [shlex.split(each["command"]) for each in found["experiments"]]
    freezes = [words[words.index("--freeze") + 1] for words in commands if "--freeze" in words]
    assert [parse_freeze(text).line for text in freezes] == [lines["innocent"], lines["guilty"]]
    assert parse_freeze(freezes[0]).action == "compile"
