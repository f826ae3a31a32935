"""What a device computes is what the host computes. XLA compiles for the processor too, so no GPU is needed to see it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from support import check, python, twinrun, write
from twinrun.recording.folder import open_recording

PROGRAM = """
import sys
import numpy as np
import tensorflow as tf
sys.path.insert(0, sys.argv[1])
from test_sum_digest import LENGTHS, TYPES, made
from twinrun.frameworks.tensorflow import device_digest
from twinrun.frameworks.tensorflow.device_digest import Placed, Together, can_digest, digest_value
from twinrun.recording.sum_digest import sum_digest

kinds = [kind for kind in TYPES if not kind.startswith("float8")]
arrays = [made(kind, length) for kind in kinds for length in (*LENGTHS, (5, 3), (5, 3))]
arrays += [made("float32", (40, 7)) * k for k in range(20)]  # more than are summed at once
variables = [tf.Variable(array) for array in arrays]
assert all(can_digest(each.dtype, tuple(each.shape)) for each in variables)
placed = [Placed(each.handle, each.dtype, tuple(each.shape)) for each in variables]
device = Together(placed)
expected = [sum_digest(array) for array in arrays]
assert device.digests() == expected
device_digest._SMALL = -1  # as if all were large
assert Together(placed).digests() == expected
one_by_one = [digest_value(each.read_value(), each.handle.device) for each in variables[:40]]
assert one_by_one == expected[:40]
last = variables[-1]
last.assign(last * 2)
assert device.digests()[:-1] == [sum_digest(array) for array in arrays[:-1]]
assert device.digests()[-1] == sum_digest(last.numpy()) != sum_digest(arrays[-1])
assert not can_digest(tf.string, (3,)) and not can_digest(tf.float32, None)
assert not can_digest(tf.as_dtype("float8_e4m3fn"), (3,))
print("equal", len(arrays))
"""


def test_a_compiled_call_gives_the_digests_of_the_host(tmp_path: Path) -> None:
    answer = python(write(tmp_path, PROGRAM), Path(__file__).parents[1] / "recording")
    assert answer.code == 0 and answer.out.startswith("equal"), answer.err


# The processor plays a GPU: all of the plan, but for the device itself.
TRAINED = """
import json
import keras
import numpy as np
import tensorflow as tf
from twinrun.frameworks.tensorflow import device_digest
from twinrun.protocol.channel import DOING
from twinrun.recording.sum_digest import sum_digest
from twinrun.twin.recorder import active

device_digest.is_gpu = lambda device: True
said = []
channel = active()._channel
send_message = channel.send_message

def listen(kind, message):
    if kind == DOING:
        said.append(message.text)
    send_message(kind, message)

channel.send_message = listen
keras.utils.set_random_seed(1)
seen = []

class Change(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        weight = self.model.layers[0].kernel.value
        doubled = tf.function(lambda: weight.assign(weight * 2)).get_concrete_function()
        # Before the step is reported, and after it was digested: the ways to change a variable are many.
        self.changes = {
            1: lambda: weight.assign(weight * 2),
            2: lambda: weight[0].assign(weight[0] * 3),
            3: lambda: tf.raw_ops.AssignAddVariableOp(resource=weight.handle, value=tf.ones_like(weight)),
            4: doubled,
        }

    def on_train_batch_end(self, batch, logs=None):
        weight = self.model.layers[0].kernel
        self.changes.get(batch % 5, int)()
        seen.append(sum_digest(weight.numpy()))

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(2)])
model.compile("adam", "mse")
model.fit(np.ones((48, 4), "f"), np.ones((48, 2), "f"), batch_size=4, verbose=0, callbacks=[Change()])
print(json.dumps([seen, said]))
"""


def test_a_plan_on_a_device_reports_what_variables_hold_when_the_step_ends(tmp_path: Path) -> None:
    answer = twinrun("run", "--dir", tmp_path / "run", write(tmp_path, TRAINED))
    assert answer.code == 0, answer.err
    seen, said = json.loads((tmp_path / "run" / "A" / "stdout.txt").read_text())
    _, reader = open_recording(tmp_path / "run" / "A")
    steps = [frame for frame in reader.frames() if frame.span]
    places = [frame.layout.places["weights", "sequential/dense/kernel"] for frame in steps]
    assert {frame.layout.kind(place) for frame, place in zip(steps, places, strict=True)} == {"d"}
    found = [frame.digest(place) for frame, place in zip(steps, places, strict=True)]
    assert [int.from_bytes(digest, "little") for digest in found] == seen and len(seen) == 12
    # When the variables are made, when the optimizer's are, and when all of them are digested by one call.
    assert re.fullmatch(r"compiling the digest of \d+ variables on the GPU", said[-1]) and len(said) < 6


def test_twins_on_different_devices_digest_all_of_it_on_the_host(tmp_path: Path) -> None:
    """Else what lies on a GPU in one of them could not be compared with what does not in the other."""
    program = write(tmp_path, TRAINED)
    answer = check(program, "--devices", "cpu,cpu", "--dir", str(tmp_path / "check"))
    assert answer.document["verdict"] == "repeats", answer.document
    assert [each["variables"].keys() for each in answer.document["devices"]] == [{"CPU:0"}] * 2
    for twin in "AB":
        _, reader = open_recording(tmp_path / "check" / twin)
        assert {frame.layout.kinds for frame in reader.frames()} == {""}


# A loop without Keras, whose batches are drawn inside the graph, and whose argument and result are large and ever new in shape.
LOOP = """
import json
import sys
import numpy as np
import tensorflow as tf
from twinrun.frameworks.tensorflow import device_digest
from twinrun.twin.recorder import active

device_digest.is_gpu = lambda device: True
again = []
digests = device_digest.Together.digests

def counted(self):
    again.append(self._begun is None)
    return digests(self)

device_digest.Together.digests = counted
weight = tf.Variable([[0.5], [0.25]], name="weight")
drawn = iter(tf.data.Dataset.from_tensors(np.ones((4, 2), "f")).repeat())

@tf.function(input_signature=[tf.TensorSpec([None])])
def step(large):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((next(drawn) @ weight - 1.0) ** 2) + tf.reduce_mean(large)
    weight.assign_sub(0.05 * tape.gradient(loss, weight))
    return loss * large

for number in range(12):
    step(tf.ones([(1 << 18) + number]))
log = active().session.log
print(json.dumps([again, log.recording, [each.source for each in log.events()]]))
"""


# The steps of an optimizer are known as soon as they are computed, and digested while the program goes on.
OPTIMIZED = (
    LOOP.replace("import json", "import json\nimport keras")
    .replace("weight = tf.Variable(", "optimizer = keras.optimizers.SGD(0.05)\nweight = keras.Variable(")
    .replace(
        "weight.assign_sub(0.05 * tape.gradient(loss, weight))",
        "optimizer.apply(tape.gradient(loss, [weight.value]), [weight])",
    )
    .replace("@tf.function", "optimizer.build([weight])\n\n@tf.function")
)


def test_digests_of_single_tensors_are_no_calls_of_the_program(tmp_path: Path) -> None:
    answer = twinrun("run", "--dir", tmp_path / "run", write(tmp_path, OPTIMIZED))
    assert answer.code == 0, answer.err
    again, recording, events = json.loads((tmp_path / "run" / "A" / "stdout.txt").read_text())
    assert len(again) > 6 and again.count(True) == 1, again  # right after the call was compiled
    assert recording and "compiler" not in events
    _, reader = open_recording(tmp_path / "run" / "A")
    steps = [frame.layout for frame in reader.frames() if frame.span]
    assert len(steps) == 12
    for layout in steps:
        batch = [layout.kind(place) for (phase, _), place in layout.places.items() if phase == "batch"]
        assert sorted(batch) == ["d", "h"]  # what the call was given, and what it drew
    assert "retracing" not in (tmp_path / "run" / "A" / "stderr.txt").read_text()


EAGERLY = LOOP.replace(
    "weight = ",
    """
from tensorflow.python.framework import op_callbacks
ran = set()

def on_op(op, *more, graph=None, **names):
    if graph is None:
        ran.add(op)

op_callbacks.add_op_callback(on_op)
tf.config.run_functions_eagerly(True)
weight = """,
    1,
).replace("log = ", "print(sorted(map(str, ran)))\nlog = ")


def test_where_functions_run_eagerly_digests_do_not(tmp_path: Path) -> None:
    answer = twinrun("run", "--dir", tmp_path / "run", write(tmp_path, EAGERLY))
    assert answer.code == 0, answer.err
    ran = (tmp_path / "run" / "A" / "stdout.txt").read_text()
    assert "MatMul" in ran and "BitwiseXor" not in ran, ran
    _, reader = open_recording(tmp_path / "run" / "A")
    assert "d" in reader.frame(len(reader) - 1).layout.kinds


def test_where_ops_are_traced_all_of_it_is_digested_on_the_host(tmp_path: Path) -> None:
    """Else the ops of the digest would be among those of the step."""
    answer = check(write(tmp_path, LOOP), "--trace-ops", "--steps", "3", "--dir", tmp_path / "check")
    assert answer.document["verdict"] == "repeats", answer.document
    _, reader = open_recording(tmp_path / "check" / "A")
    assert {frame.layout.kinds for frame in reader.frames()} == {""}
