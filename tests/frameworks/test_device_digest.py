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
    def on_train_batch_end(self, batch, logs=None):
        weight = self.model.layers[0].kernel
        if batch % 3 == 1:  # after the step was digested, and before it is reported
            weight.assign(weight * 2)
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
