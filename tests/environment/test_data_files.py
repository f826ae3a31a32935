"""The files a program reads are in its environment, whoever opens them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import csv
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)
with tf.io.TFRecordWriter("written.tfrecord") as out:
    out.write(b"12345678")
list(tf.data.TFRecordDataset(["written.tfrecord"]))
list(tf.data.TextLineDataset(tf.data.Dataset.list_files("*.txt", shuffle=False)))
tf.io.read_file("read.bin")
list(csv.reader(open("table.csv")))
x = np.load("array.npy")
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x[:, :1], verbose=0)
"""


def test_files_opened_by_python_and_by_tensorflow_have_digests(tmp_path: Path) -> None:
    import numpy as np

    (tmp_path / "train.py").write_text(PROGRAM)
    for name, text in (
        ("a.txt", "1\n"),
        ("b.txt", "2\n"),
        ("read.bin", "x"),
        ("table.csv", "1,2\n"),
        ("idle.csv", ""),
    ):
        (tmp_path / name).write_text(text)
    np.save(tmp_path / "array.npy", np.ones((8, 2), np.float32))
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [
        sys.executable,
        "-m",
        "twinrun",
        "run",
        "--dir",
        "recording",
        "train.py",
        "--api-key",
        "s3cr3t",
    ]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    manifest = (tmp_path / "recording" / "A" / "manifest.json").read_text()
    facts = json.loads(manifest)["environment"]["facts"]
    assert set(facts["data"]) == {"written.tfrecord", "a.txt", "b.txt", "read.bin", "table.csv", "array.npy"}
    assert all(len(each["digest"]) == 16 for each in facts["data"].values())
    assert set(facts["code"]["sources"]) == {"train.py"}
    assert "s3cr3t" not in manifest, "arguments are masked where they look like credentials"
