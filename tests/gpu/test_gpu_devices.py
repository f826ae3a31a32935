"""A CPU against a GPU: the same program once on each."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu import GPU
from support import twinrun, write

pytestmark = pytest.mark.gpu

KERAS = """
import keras
import numpy as np
import tensorflow as tf
tf.config.experimental.enable_tensor_float_32_execution(False)
keras.utils.set_random_seed(7)
rng = np.random.default_rng(3)
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.01), "mse")
model.fit(rng.normal(size=(128, 16)).astype("f"), rng.normal(size=(128, 1)).astype("f"), batch_size=32, epochs=2, verbose=0)
"""
# One step, and sums of products that are as often negative as positive: many of them are small, and what was rounded is not.
PRODUCT = """
import tensorflow as tf
x, start = (2 * tf.random.stateless_uniform([512, 512], seed=(1, number)) - 1 for number in (2, 3))
weight = tf.Variable(start, name="weight")
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((x @ weight) ** 2)  # guilty
weight.assign_sub(10_000.0 * tape.gradient(loss, weight))
"""


def test_rounding_alone_stays_within_the_contract(tmp_path: Path) -> None:
    program = write(tmp_path, KERAS)
    answer = twinrun(
        "check", "--devices", "cpu,gpu", "--output-format", "json", program, env=GPU, timeout=300
    )
    found = answer.document
    assert (answer.code, found["verdict"], found["steps_compared"]) == (0, "repeats", 8), answer.out
    cpu, gpu = (each["variables"] for each in found["devices"])
    assert cpu.keys() == {"CPU:0"} and "GPU:0" in gpu


def test_a_product_that_the_gpu_rounds_to_ten_bits_is_named_with_its_remedy(tmp_path: Path) -> None:
    program = write(tmp_path, PRODUCT)
    answer = twinrun(
        "check", "--devices", "cpu,gpu", "--output-format", "json", program, env=GPU, timeout=300
    )
    found = answer.document
    assert (answer.code, found["verdict"]) == (1, "diverges"), answer.out
    (finding,) = found["findings"]
    guilty = next(n for n, line in enumerate(PRODUCT.splitlines(), 1) if line.endswith("# guilty"))
    assert (finding["code"], finding["line"], finding["confirmed"]) == ("TW407", guilty, True), finding
    assert finding["message"].startswith("MatMul")
    assert (
        "it ran on CPU:0 in one twin and on GPU:0 in the other, with equal inputs" in finding["evidence"][0]
    )
    assert "enable_tensor_float_32_execution(False)" in finding["fix"]


def test_a_program_that_hides_the_gpu_shows_nothing_of_it(tmp_path: Path) -> None:
    hidden = KERAS.replace("keras.utils", "tf.config.set_visible_devices([], 'GPU')\nkeras.utils")
    program = write(tmp_path, hidden)
    answer = twinrun(
        "check", "--devices", "cpu,gpu", "--output-format", "json", program, env=GPU, timeout=300
    )
    found = answer.document
    assert (answer.code, found["verdict"], found["reason_kind"]) == (2, "undecided", "not-comparable"), (
        answer.out
    )
    assert "twin B was given gpu" in found["reason"]
