"""The first difference is found at its very step, phase, tensor and element, and measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support import BY_HAND, FIRST, PLAIN, check, twinrun, write

pytestmark = pytest.mark.usefixtures("tinynet")

FLIP = """
import numpy as np
def flipped(array, index, bit=0):
    array = np.array(array)
    array.view(np.uint32)[index] ^= np.uint32(1 << bit)
    return array
"""


def found(program: Path, marker: Path, *options: str) -> dict[str, Any]:
    answer = check(program, *options, arguments=[marker])
    assert (answer.code, answer.document["verdict"]) == (1, "diverges"), answer.document
    first: dict[str, Any] = answer.document["first_difference"]
    return {"compared": answer.document["steps_compared"], **first}


KERAS = (
    FIRST
    + FLIP
    + """
import keras
keras.utils.set_random_seed(3)
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(2)])
model.layers[0].name, model.layers[1].name
model.compile("adam", "mse")
odd = first()
"""
)

CALLBACK = (
    KERAS
    + """
class Flip(keras.callbacks.Callback):
    seen = 0
    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1
        if odd and self.seen == 37:
            kernel = self.model.layers[1].kernel
            kernel.assign(flipped(kernel.numpy(), (2, 1)))
x = np.random.default_rng(0).normal(size=(160, 4)).astype("float32")
model.fit(x, x[:, :2], batch_size=4, epochs=1, shuffle=False, verbose=0, callbacks=[Flip()])
"""
)

LOOP = (
    KERAS
    + """
optimizer = keras.optimizers.Adam()
import tensorflow as tf
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - x[:, :2]) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
x = np.random.default_rng(0).normal(size=(160, 4)).astype("float32")
for number in range(1, 41):
    step(tf.constant(x[4 * number - 4 : 4 * number]))
    if odd and number == 37:
        kernel = model.layers[1].kernel
        kernel.assign(flipped(kernel.numpy(), (2, 1)))
"""
)


@pytest.mark.parametrize("text", [CALLBACK, LOOP], ids=["callback of fit", "custom loop"])
def test_one_bit_of_one_weight_at_step_37(tmp_path: Path, text: str) -> None:
    seen = found(write(tmp_path, text), tmp_path / "marker")
    assert (seen["step"], seen["phase"], seen["tensor"]) == (37, "weights", "sequential/dense_1/kernel")
    assert (seen["first_index"], seen["differing_count"], seen["size"], seen["max_ulp"]) == ([2, 1], 1, 6, 1)
    assert seen["differing"] == pytest.approx(1 / 6) and 0 < seen["max_abs"] < 1e-6
    assert seen["others"] == 0 and seen["only_in"] is None and seen["worker"] == 0


AT_EPOCH_END = (
    KERAS
    + """
class Flip(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if odd and epoch == 1:
            kernel = self.model.layers[1].kernel
            kernel.assign(flipped(np.array(kernel), (2, 1)))
x = np.random.default_rng(0).normal(size=(24, 4)).astype("float32")
y = x[:, :2]
model.fit(x, y, batch_size=4, epochs=3, validation_data=(x, y), verbose=0, callbacks=[Flip()])
"""
)


@pytest.mark.parametrize("library", ["keras", "tf_keras"])
def test_what_a_callback_does_at_the_end_of_an_epoch_is_seen_there(tmp_path: Path, library: str) -> None:
    seen = found(write(tmp_path, AT_EPOCH_END.replace("keras", library)), tmp_path / "marker")
    assert (seen["step"], seen["phase"]) == (12, "weights")
    assert seen["tensor"].endswith("dense_1/kernel")
    assert (seen["first_index"], seen["differing_count"], seen["max_ulp"]) == ([2, 1], 1, 1)


def test_the_results_of_validation_can_be_held_to_a_band(tmp_path: Path) -> None:
    program = write(tmp_path, AT_EPOCH_END)
    answer = check(program, "--contract", "band=val_loss:1e-3,loss:1e-3", arguments=[tmp_path / "marker"])
    assert (answer.code, answer.document["reason"], answer.document["steps_compared"]) == (0, None, 18)
    assert answer.document["first_bit_difference"]["step"] == 12


def test_a_bit_of_the_batch_at_step_11(tmp_path: Path) -> None:
    text = (
        KERAS
        + """
    import tensorflow as tf
    def batches():
        for number in range(1, 16):
            x = np.full((4, 4), number / 16, "float32")
            yield (flipped(x, (1, 3)) if odd and number == 11 else x), x[:, :2]
    kind = tf.TensorSpec([4, 4]), tf.TensorSpec([4, 2])
    model.fit(tf.data.Dataset.from_generator(batches, output_signature=kind), verbose=0)
    """.replace("\n    ", "\n")
    )
    seen = found(write(tmp_path, text), tmp_path / "marker")
    assert (seen["step"], seen["phase"], seen["tensor"], seen["compared"]) == (11, "batch", "x", 10)
    assert (seen["first_index"], seen["differing_count"], seen["max_ulp"]) == ([1, 3], 1, 1)


def test_initial_weights_at_step_0(tmp_path: Path) -> None:
    text = KERAS + "\nif odd:\n    model.layers[0].bias.assign(flipped(model.layers[0].bias.numpy(), 2))\n"
    text += "model.fit(np.ones((8, 4)), np.ones((8, 2)), verbose=0)\n"
    seen = found(write(tmp_path, text), tmp_path / "marker")
    assert (seen["step"], seen["phase"], seen["tensor"], seen["compared"]) == (
        0,
        "init",
        "sequential/dense/bias",
        0,
    )
    assert (seen["first_index"], seen["differing_count"], seen["max_ulp"]) == ([2], 1, 1)


def test_initial_weights_that_the_first_step_makes(tmp_path: Path) -> None:
    """Keras builds such a model while it traces its training function, so nobody sees the weights before `fit`."""
    text = (
        FIRST
        + """
import keras
import numpy as np
keras.utils.set_random_seed(2 if first() else 1)
model = keras.Sequential([keras.layers.Dense(2, use_bias=False)])
model.compile(optimizer="sgd", loss="mse")
model.fit(np.ones((8, 4)), np.ones((8, 2)), verbose=0)
"""
    )
    seen = found(write(tmp_path, text), tmp_path / "marker")
    expected = (0, "init", "sequential/dense/kernel", 0)
    assert (seen["step"], seen["phase"], seen["tensor"], seen["others"]) == expected


def test_a_loss_that_alone_differs(tmp_path: Path) -> None:
    """The gradient of a constant is nothing, so the weights stay equal."""
    text = (
        FIRST
        + BY_HAND
        + """
odd = first()
for step in range(1, 8):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((weight - 1.0) ** 2) + (tf.stop_gradient(1.0) if odd and step == 4 else 0.0)
    weight.assign_sub(0.05 * tape.gradient(loss, weight))
"""
    )
    seen = found(write(tmp_path, text), tmp_path / "marker")
    assert (seen["step"], seen["phase"], seen["tensor"]) == (4, "loss", "loss")
    assert (seen["first_index"], seen["differing_count"], seen["size"], seen["others"]) == ([], 1, 1, 0)
    assert seen["max_abs"] == pytest.approx(1.0)


def test_a_variable_that_one_twin_alone_has(tmp_path: Path) -> None:
    text = (
        FIRST
        + BY_HAND
        + """
odd = first()
def each(step):
    global extra
    if odd and step == 3:
        extra = tf.Variable([1.0], name="extra")
train(6, each)
"""
    )
    seen = found(write(tmp_path, text), tmp_path / "marker")
    assert (seen["step"], seen["phase"], seen["tensor"]) == (3, "weights", "extra")
    assert seen["only_in"] in ("A", "B") and seen["differing"] is None


ZERO = (
    FIRST
    + PLAIN
    + """
zero = tinynet.Line(2)
zero.weight = np.array([0, 1], "f")
odd = first()
def each(step):
    if odd and step == 2:
        zero.weight = np.array([VALUE, 1], "f")
train(4, each)
"""
)


def test_a_negative_zero_is_said_in_words(tmp_path: Path) -> None:
    program = write(tmp_path, ZERO.replace("VALUE", "-0.0"))
    answer = twinrun("check", "--no-diagnose", program, tmp_path / "marker")
    assert answer.code == 1
    assert answer.out.startswith(
        "diverges at step 2, phase weights: model 1 differs, everything before was equal\n"
    )
    assert "1 of 2 elements differ, by at most 0 ULP" in answer.out and "0.0 against -0.0" in answer.out
    assert answer.err == ""


NAN = (
    FIRST
    + PLAIN
    + FLIP
    + """
nan = np.array([np.nan], "float32")
spot = tinynet.Line(1)
spot.weight = nan
odd = first()
def each(step):
    if step == 2:
        spot.weight = flipped(nan, 0) if odd else nan
train(4, each)
"""
)


def test_the_payload_of_a_nan_is_bits_like_any_other(tmp_path: Path) -> None:
    seen = found(write(tmp_path, NAN), tmp_path / "marker")
    assert (seen["step"], seen["phase"], seen["tensor"]) == (2, "weights", "model 1")
    assert seen["max_ulp"] is None and seen["max_abs"] is None and "payload" in seen["note"]


def test_nans_with_equal_bits_are_equal(tmp_path: Path) -> None:
    answer = check(write(tmp_path, NAN.replace("if odd", "if False")), arguments=[tmp_path / "marker"])
    assert (answer.code, answer.document["steps_compared"]) == (0, 4)
