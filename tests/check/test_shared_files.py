"""Twins run side by side in one folder. What they read and write there must not decide the verdict."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from support import BY_HAND, PLAIN, check, twinrun, write

pytestmark = pytest.mark.usefixtures("tinynet")

APART = "so the twins were run again, one after the other"

# Goes on from its last run in three ways, none of which Python's own `open` sees.
GOES_ON = """
import os
state = tf.train.Checkpoint(weight=weight)
state.restore(tf.train.latest_checkpoint("c"))
if tf.io.gfile.exists("a.txt"):
    with tf.io.gfile.GFile("a.txt") as kept:
        weight.assign(weight + float(kept.read()))
if os.path.exists("b.tfrecord"):
    for row in tf.data.TFRecordDataset("b.tfrecord"):
        weight.assign(weight + tf.io.decode_raw(row, tf.float32)[0])
train(3)
state.save("c/state")
with tf.io.gfile.GFile("a.txt", "w") as kept:
    kept.write(str(float(weight[0, 0])))
with tf.io.TFRecordWriter("b.tfrecord") as rows:
    rows.write(weight.numpy().tobytes())
"""


def found_in(folder: Path, program: Path, *options: str) -> dict[str, Any]:
    return check(program, *options, cwd=folder).document


def test_a_program_that_goes_on_from_its_last_run_does_not_repeat(tmp_path: Path) -> None:
    found = found_in(tmp_path, write(tmp_path, BY_HAND + GOES_ON))
    assert found["verdict"] == "diverges", found
    assert any(APART in note for note in found["notes"])
    assert {"a.txt", "b.tfrecord", "c/checkpoint"} <= set(found["environment"]["facts"]["data"])


@pytest.mark.slow  # test_experiments has the same with Python's own files
def test_a_program_that_goes_on_from_its_last_run_is_diagnosed(tmp_path: Path) -> None:
    found = twinrun(
        "check", "--output-format", "json", write(tmp_path, BY_HAND + GOES_ON), cwd=tmp_path
    ).document
    [finding] = found["findings"]
    assert (finding["code"], finding["file"], finding["confirmed"]) == ("TW304", "train.py", True)


def test_a_program_that_reads_back_what_it_wrote_repeats(tmp_path: Path) -> None:
    text = """
        import keras, numpy as np
        keras.utils.set_random_seed(3)
        x = np.arange(32, dtype="float32").reshape(16, 2) / 32
        model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        best = keras.callbacks.ModelCheckpoint("best.keras", monitor="loss", save_best_only=True)
        model.fit(x, x[:, :1], epochs=3, verbose=0, callbacks=[best])
        keras.models.load_model("best.keras").fit(x, x[:, :1], verbose=0)
        """
    found = found_in(tmp_path, write(tmp_path, text))
    assert (found["verdict"], found["reason"]) == ("repeats", None)


def test_a_twin_that_fails_on_a_port_that_is_taken_is_run_alone_before_a_verdict(tmp_path: Path) -> None:
    text = """
        import socket
        place = socket.socket()
        place.bind((sys.argv[-1], 17077))  # one twin gets it; the system itself gives nobody this port
        place.listen()
        train(3)
        """
    with_port = write(tmp_path, "import sys\n" + PLAIN + dedent(text))
    # An address of this test's own: a free port of the usual one may be taken by anybody in between.
    address = f"127.{os.getpid() >> 16 & 63 | 64}.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
    found = check(with_port, arguments=[address], cwd=tmp_path).document
    assert (found["verdict"], found["steps_compared"]) == ("repeats", 3), found
    assert any(
        "a twin failed on a resource that the other twin may hold (OSError)" in note
        for note in found["notes"]
    )


def test_files_of_its_own_in_a_temporary_folder_need_no_second_look(tmp_path: Path) -> None:
    text = """
        import random, tempfile
        import numpy as np
        file = tempfile.mkdtemp() + "/rows.npy"
        np.save(file, np.ones(2))
        model.weight = np.array([random.random(), np.load(file)[0]], "f")
        train(3)
        """
    found = found_in(tmp_path, write(tmp_path, PLAIN + dedent(text)))
    assert found["verdict"] == "diverges"
    assert not any(APART in note for note in found["notes"])
