"""What lies on a GPU is digested there, and the program does not notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu import GPU
from support import python, twinrun, write
from twinrun.recording.folder import open_recording

pytestmark = pytest.mark.gpu

HEAD = """
import hashlib
import keras
import numpy as np
import tensorflow as tf
keras.utils.set_random_seed(7)
tf.config.experimental.enable_op_determinism()
rng = np.random.default_rng(3)

def fit(model, x, y, loss="mse", **more):
    model.compile("adam", loss, **more)
    model.fit(x, y, batch_size=32, epochs=4, verbose=0)
    show(model.weights + model.optimizer.variables)

def show(variables):
    print(hashlib.sha256(b"".join(np.asarray(each.numpy()).tobytes() for each in variables)).hexdigest())
"""
SHAPES = {
    "dense": """
fit(keras.Sequential([keras.Input((256,)), keras.layers.Dense(2048, "relu"), keras.layers.Dense(1)]),
    rng.normal(size=(256, 256)).astype("f"), rng.normal(size=(256, 1)).astype("f"))
""",
    "convolutions": """
layers = [keras.layers.Conv2D(width, 3, 2, "same", activation="relu") for width in (32, 64, 128)]
fit(keras.Sequential([keras.Input((32, 32, 3)), *layers, keras.layers.Flatten(), keras.layers.Dense(1)]),
    rng.normal(size=(256, 32, 32, 3)).astype("f"), rng.normal(size=(256, 1)).astype("f"))
""",
    "attention, mixed precision": """
keras.mixed_precision.set_global_policy("mixed_bfloat16")
tokens = keras.Input((32, 128))
h = keras.layers.MultiHeadAttention(4, 32)(tokens, tokens)
out = keras.layers.Dense(1, dtype="float32")(keras.layers.GlobalAveragePooling1D()(h))
fit(keras.Model(tokens, out), rng.normal(size=(256, 32, 128)).astype("f"), rng.normal(size=(256, 1)).astype("f"))
""",
    "compiled by XLA": """
fit(keras.Sequential([keras.Input((256,)), keras.layers.Dense(2048, "relu"), keras.layers.Dense(1)]),
    rng.normal(size=(256, 256)).astype("f"), rng.normal(size=(256, 1)).astype("f"), jit_compile=True)
""",
    "a loop of its own, many types": """
x = tf.constant(rng.normal(size=(512, 64)).astype("f"))
weights = [tf.Variable(tf.cast(rng.normal(size=(64, 64)), kind)) for kind in ("float32", "bfloat16", "float16", "float64")]
counter, flags = tf.Variable(0, dtype=tf.int64), tf.Variable([True, False])
@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.add_n([tf.cast(tf.reduce_mean(tf.matmul(tf.cast(x, w.dtype), w) ** 2), tf.float32) for w in weights])
    for w, g in zip(weights, tape.gradient(loss, weights)):
        w.assign_sub(tf.cast(0.01, g.dtype) * g)
    counter.assign_add(1)
for _ in range(12):
    step()
show([*weights, counter, flags])
""",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_watched_program_ends_with_the_bits_of_a_plain_one(shape: str, tmp_path: Path) -> None:
    program = write(tmp_path, HEAD + SHAPES[shape])
    plain = python(program, **GPU)
    watched = twinrun("run", "--dir", tmp_path / "run", program, env=GPU, timeout=300)
    assert plain.code == watched.code == 0, plain.err + watched.err
    shown = plain.out.split()[-1]
    assert len(shown) == 64 and shown in (tmp_path / "run" / "A" / "stdout.txt").read_text()
    _, reader = open_recording(tmp_path / "run" / "A")
    last = reader.frame(len(reader) - 1)
    assert "d" in last.layout.kinds


def test_a_difference_of_one_bit_on_the_gpu_is_found(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        HEAD
        + """
import os
big = tf.Variable(tf.zeros([1 << 22]), name="big")
weight = tf.Variable(1.0)
for step in range(12):
    with tf.GradientTape() as tape:
        loss = weight**2
    weight.assign_sub(0.1 * tape.gradient(loss, weight))
    if step == 9:
        odd = tf.constant([[os.getpid() % 4194304]])
        big.scatter_nd_update(odd, [1e-45])
""",
    )
    answer = twinrun("check", "--no-diagnose", "--output-format", "json", program, env=GPU, timeout=300)
    first = answer.document["first_difference"]
    assert answer.document["verdict"] == "diverges"
    assert (first["step"], first["tensor"]) == (10, "big")
    assert first["differing_count"] == 2
