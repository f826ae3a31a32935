"""Pins itself from inside, late and early, strictly and not, and prints what each call reports."""

import json
import random
import warnings

import keras
import numpy as np
import numpy.random  # on first use otherwise
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework.config import is_op_determinism_enabled

import twinrun
from twinrun.errors import TwinrunError
from twinrun.frameworks.tensorflow.refusal import explain

reported = {}


def state():
    return [
        random.getstate()[1][:3],
        np.random.get_state()[1][:3].tolist(),
        tf.config.experimental.tensor_float_32_execution_enabled(),
        tf.config.threading.get_intra_op_parallelism_threads(),
    ]


# On time: nothing was drawn or built. What a running process cannot pin is reported.
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    report = twinrun.pin(42)
reported["early"] = {
    "ok": report.ok,
    "not_applied": report.not_applied,
    "findings": [finding.code for finding in report.findings],
    "warned": [f"{warning.category.__name__} {warning.filename} {warning.lineno}" for warning in caught],
    "set_by": {name: entry.set_by for name, entry in report.controls.items()},
}


def draw():
    return [random.random(), float(np.random.rand()), float(tf.random.normal([]))]


draw()
python, numpy, ops = random.getstate(), np.random.get_state(), context.context()._rng.getstate()
reported["expected after"] = draw()
random.setstate(python)
np.random.set_state(numpy)
context.context()._rng.setstate(ops)

# Inside `pinned`, draws repeat; afterwards, what can be put back is back.
before = state()
draws = []
for _ in range(2):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with twinrun.pinned(5) as report:
            layer = keras.layers.Dense(3, name="same")
            layer.build((None, 3))
            shuffled = list(tf.data.Dataset.range(20).shuffle(20).as_numpy_iterator())
            draws.append(
                [
                    random.random(),
                    float(np.random.rand()),
                    float(tf.random.normal([])),
                    float(keras.random.normal(())),
                    [int(number) for number in shuffled],
                    np.asarray(layer.kernel).tolist(),
                    float(tf.random.get_global_generator().normal([])),
                ]
            )
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    with twinrun.pinned(6, allow="TW406"):
        inner = is_op_determinism_enabled()
reported["nested"] = {"inner": inner, "outer": is_op_determinism_enabled()}
reported["pinned"] = {"draws": draws, "restored": state() == before, "kept": report.kept}
reported["after"] = draw()



# A model that gains a layer, and a program that draws once more, leave the other layers and the data as they were.
def weights(*, more):
    keras.utils.clear_session()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with twinrun.pinned(5):
            layers = [keras.layers.Dense(3, name="first"), keras.layers.Dense(3, name="second")]
            if more:
                random.random()
                np.random.rand()
                tf.random.normal([])
                layers.insert(1, keras.layers.Dropout(0.5))
                layers.insert(1, keras.layers.Dense(3, name="new"))
            model = keras.Sequential([keras.Input((3,)), *layers])
            order = [int(n) for n in tf.data.Dataset.range(20).shuffle(20).as_numpy_iterator()]
            return [np.asarray(model.get_layer(name).kernel).tolist() for name in ("first", "second")], order


reported["stable"] = [weights(more=False), weights(more=True)]

# Late: a layer, a dataset and draws came before.
keras.layers.Dense(2, name="early_bird").build((None, 2))
bird = keras.layers.Dense(2, name="late_bird")
bird.build((None, 2))
data = tf.data.Dataset.range(10).shuffle(10)
np.random.rand(3)
random.random()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    report = twinrun.pin(43)  # the late line
reported["late"] = {
    "codes": [finding.code for finding in report.findings],
    "evidence": [list(finding.evidence) for finding in report.findings],
    "place": [finding.place for finding in report.findings],
    "warned": str(caught[0].message),
}
try:
    twinrun.pin(44, strict=True)
except TwinrunError as problem:
    reported["strict"] = str(problem)

# The clock is an op that refuses to run under op determinism, on every device.
try:
    tf.timestamp()  # the refused line
except Exception as problem:
    finding = explain(problem)
    reported["refused"] = [type(problem).__name__, finding.code, finding.message, finding.place]
try:
    tf.raw_ops.RandomUniform(shape=[2], dtype=tf.float32)
except Exception as problem:
    reported["raw"] = explain(problem).code
reported["unrelated"] = explain(ValueError("this talks of determinism and is the program's own"))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    report = twinrun.pin(45, allow="TW406")
reported["allowed"] = report.left_off
reported["op determinism after allowing"] = report.controls["op-determinism"].state
print(json.dumps(reported))
