"""Whole diagnoses, of programs as users write them: the code, the line, and that an experiment showed it. The zoo has
many more; these few stand for the roads that a diagnosis can take."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import BY_HAND, twinrun, write

HEAD = """
import numpy as np, tensorflow as tf, keras
keras.utils.set_random_seed(1)
x, y = np.random.rand(96, 8).astype("f"), np.random.randint(0, 3, 96)
def train(data, **more):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(6), keras.layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(data, epochs=2, verbose=0, **more)
"""

RACE = """
def augment(a, b):
    return a + tf.random.uniform([]), b
ds = tf.data.Dataset.from_tensor_slices((x, y))
ds = ds.map(augment, num_parallel_calls=4)  # guilty
train(ds.batch(16))
"""

HASH = """
words = "the quick brown fox jumps over the lazy dog once more today".split()
index = {word: i for i, word in enumerate(set(words))}  # guilty
x[:, 0] = np.resize([index[word] for word in words], 96)
train(x, y=y)
"""

UNSEEDED = """
import uuid
print("run", uuid.uuid4())  # looks guilty, and is not
rng = np.random.default_rng()  # guilty
train(x + rng.normal(size=x.shape).astype("f"), y=y)
"""

# More threads than cores: which of them does what is then never the same, however busy the machine is.
OP = """
tf.config.threading.set_intra_op_parallelism_threads(8)
weight = tf.Variable(tf.random.normal([1_000_000]))
cells = tf.constant(np.random.randint(0, 5, 1_000_000).astype("i4"))
optimizer = keras.optimizers.SGD(0.1)
@tf.function
def step():
    with tf.GradientTape() as tape:
        counts = tf.math.bincount(cells, weights=tf.stop_gradient(weight), minlength=5)  # guilty
        loss = tf.reduce_sum(weight * tf.reduce_sum(counts * [1.0, 2.0, 3.0, 4.0, 5.0]))
    optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
    return loss
for _ in range(40):
    step()
"""

FED = """
tf.config.threading.set_intra_op_parallelism_threads(8)
cells = tf.constant(np.random.randint(0, 8, 2_000_000).astype("i4"))
weights = tf.constant(np.random.normal(size=2_000_000).astype("f"))
def counted(n):
    counts = tf.math.bincount(cells, weights=weights * tf.cast(n + 1, tf.float32), minlength=8)  # guilty
    return counts / 1000.0, n % 3
train(tf.data.Dataset.range(48).map(counted).batch(8))
"""


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(RACE, "TW203", marks=pytest.mark.slow),
        # What no framework is needed for is tested with every change, in test_many_causes.
        pytest.param(HASH, "TW301", marks=pytest.mark.slow),
        pytest.param(UNSEEDED, "TW103", marks=pytest.mark.slow),
        (OP, "TW401"),
        (FED, "TW401"),
    ],
    ids=["TW203", "TW301", "TW103", "TW401", "TW401-in-the-pipeline"],
)
def test_the_first_finding_is_the_cause_and_an_experiment_showed_it(
    body: str, code: str, tmp_path: Path
) -> None:
    program = tmp_path / "train.py"
    program.write_text(HEAD + body)
    guilty = next(
        n for n, line in enumerate((HEAD + body).splitlines(), start=1) if line.endswith("# guilty")
    )
    answer = twinrun(
        "check", "--output-format", "json", "--budget", "300s", "train.py", cwd=tmp_path, timeout=400
    )
    document = answer.document
    assert document["verdict"] == "diverges" and answer.code == 1
    first = document["findings"][0]
    assert (first["code"], first["file"], first["line"]) == (code, "train.py", guilty)
    assert first["confirmed"] and first["fix"]
    assert document["experiments"] and all(
        trial["command"].find("twinrun check") >= 0 for trial in document["experiments"]
    )


def test_a_program_that_only_looks_guilty_has_no_finding(tmp_path: Path) -> None:
    innocent = """
import random, sys, time, threading
started = time.time()
name = f"run-{random.random()}-{np.random.default_rng().integers(9)}"
threading.Thread(target=print, args=(name,), kwargs={"file": sys.stderr}).start()
print("seen" if "a" in {"a", "b"} else "new")
ds = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a * 2.0, b), num_parallel_calls=4)
train(ds.shuffle(96, seed=3).batch(16))
print(time.time() - started)
"""
    (tmp_path / "train.py").write_text(HEAD + innocent)
    document = twinrun("check", "--output-format", "json", "train.py", cwd=tmp_path, timeout=400).document
    assert (document["verdict"], document["findings"]) == ("repeats", [])


HIDDEN = """
import tensorflow as tf
@tf.function
def cropped(x):
    begin, _, _ = tf.image.sample_distorted_bounding_box([64, 64, 3], [[[0.0, 0.0, 1.0, 1.0]]])  # TW104
    return x + tf.cast(begin[:2], tf.float32)
cropped(tf.zeros(2))  # traced here, and not again by the map
interleave = getattr(tf.data.experimental, "parallel" + "_interleave")
ds = tf.data.Dataset.range(8)
ds = ds.apply(interleave(lambda n: tf.data.Dataset.from_tensors(tf.zeros(2)), 2, sloppy=True))  # TW202
ds = ds.map(cropped, num_parallel_calls=2)  # TW203
elements = iter(ds.batch(4))
"""


def test_what_the_program_hides_is_likely_by_what_is_read_of_its_datasets(tmp_path: Path) -> None:
    write(tmp_path, f"{HIDDEN}{BY_HAND}train(2, batch=lambda step, x: next(elements))\n")
    lines = (tmp_path / "train.py").read_text().splitlines()
    marked = {line[-5:]: number for number, line in enumerate(lines, start=1) if "# TW" in line}
    answer = twinrun("check", "--budget", "0.001s", "--output-format", "json", "train.py", cwd=tmp_path)
    document = answer.document
    assert document["first_difference"]["phase"] == "batch", answer.out
    findings = {finding["code"]: finding for finding in document["findings"]}
    assert {code: finding["line"] for code, finding in findings.items()} == marked
    assert not any(finding["confirmed"] for finding in findings.values())
    assert "the audit of a dataset that the program iterates shows it" in findings["TW202"]["evidence"][-2]
