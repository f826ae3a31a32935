"""What is traced of ops, and which may not be blamed for a difference though their inputs are equal: what they give
depends on more."""

from __future__ import annotations

import json
from pathlib import Path

from support import python, twinrun, write

PROGRAM = """
import json
from twinrun.frameworks.tensorflow.optrace import _is_stateful

hidden = ("PyFunc", "PyFuncStateless", "EagerPyFunc", "OptionalGetValue", "RandomUniform", "ReadVariableOp")
print(json.dumps([_is_stateful(name) for name in (*hidden, "MatMul", "NoSuchOp")]))
"""

CUT = """
import json
from types import SimpleNamespace
import tensorflow as tf
from tensorflow.python.framework import op_callbacks
from twinrun.frameworks.tensorflow import optrace

optrace.MOST_OPS = 3
recorder = SimpleNamespace(session=SimpleNamespace(device=""), alive=True, standing=False, frames=0)
trace = optrace.OpTrace(recorder)
op_callbacks.add_op_callback(trace.on_op)
found = []
for recorder.frames in (0, 0, 0, 0, 0, 1, 2):
    tf.exp(1.0)
    found.append((len(trace.trace().step), trace.trace().cut))
print(json.dumps(found))
"""


def test_ops_that_call_python_or_hold_state_may_not_be_blamed() -> None:
    assert python("-c", PROGRAM).document == [True] * 6 + [False] * 2


def test_a_trace_that_holds_not_every_op_says_so() -> None:
    """It has the ops of a step and of the one before."""
    cut = [[1, False], [2, False], [3, False], [3, True], [3, True], [4, True], [2, False]]
    assert python("-c", CUT).document == cut


LAYERS = """
import json
import keras
import numpy as np
import tensorflow as tf
from twinrun.frameworks.tensorflow.optrace import trace_ops
from twinrun.twin.recorder import active

class Crops(keras.layers.Layer):
    def call(self, images):
        return tf.image.crop_and_resize(images, [[0.1, 0.1, 0.9, 0.9]] * 2, [0, 1], (4, 4))  # CropAndResize

trace_ops(active(), pipeline=False)
inputs = keras.Input((4, 4, 1), batch_size=2)
h = keras.layers.Conv2D(2, 1)(inputs)  # Conv2D
h = keras.layers.UpSampling2D(2, interpolation="bilinear")(h)  # ResizeBilinear
h = keras.layers.Lambda(keras.ops.erf)(h)  # Erf
h = Crops()(h)
outputs = keras.layers.GlobalMaxPooling2D()(h)  # Max
model = keras.Model(inputs, outputs)
model.compile("sgd", "mse")
model.fit(np.ones((2, 4, 4, 1), "f"), np.ones((2, 2), "f"), verbose=0)  # fit
print(json.dumps([(op.op, op.forward, op.layer, op.line) for op in active().trace().step]))
"""


def test_an_op_of_a_layer_has_the_line_of_the_layer_and_so_has_its_gradient(tmp_path: Path) -> None:
    program = write(tmp_path, LAYERS)
    lines = {
        line.rpartition("# ")[2]: number
        for number, line in enumerate(program.read_text().splitlines(), 1)
        if "  # " in line
    }
    answer = twinrun("run", "--dir", tmp_path / "run", program)
    assert answer.code == 0, answer.err
    ops = json.loads((tmp_path / "run" / "A" / "stdout.txt").read_text())
    for name in ("Conv2D", "ResizeBilinear", "Erf", "CropAndResize", "Max"):
        found = {(forward is None, line) for op, forward, _, line in ops if name in (op, forward)}
        assert found == {(True, lines[name]), (False, lines[name])}, (name, ops)
    assert not [each for each in ops if each[2] is not None and each[3] == lines["fit"]]
