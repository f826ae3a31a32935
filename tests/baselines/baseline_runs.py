"""Runs made of frames, for tests of what is kept and compared, and a small program for those of the verbs."""

from __future__ import annotations

from typing import Any

import numpy as np

from twinrun.baselines.kept_run import KeptRun, from_frames
from twinrun.environment.environment import Environment, EnvironmentKey
from twinrun.recording.frame import Frame, Layout, pack

LAYOUT = Layout(
    ("batch", "loss", "weights", "weights", "metric"), ("x", "loss", "kernel", "bias", "epoch/accuracy")
)
FINAL = Layout(("final", "final"), ("kernel", "bias"))


def environment(**key: Any) -> Environment:
    facts = {
        "framework": "tensorflow 2.21.0",
        "device": "cpu",
        "vector": "avx2",
        "intra_op_threads": 2,
        **key,
    }
    return Environment(
        {"code": {"git": {"commit": "none"}, "sources": {"train.py": "1"}}}, EnvironmentKey(facts)
    )


def frames(steps: int = 8, seed: int = 1) -> list[Frame]:
    """Steps whose digests and values follow from the seed."""
    draw = np.random.default_rng(seed)
    made = []
    for step in range(1, steps + 1):
        digests = [int(each) for each in draw.integers(0, 2**63, len(LAYOUT))]
        loss, accuracy = np.float32(1.0 / step), np.float32(1 - 0.5 / step)
        made.append(Frame(step, 1, LAYOUT, pack(digests), ((1, float(loss)), (4, float(accuracy)))))
    last = [int(each) for each in draw.integers(0, 2**63, len(FINAL))]
    return [*made, Frame(steps, 0, FINAL, pack(last))]


def observed(made: list[Frame] | None = None, **options: Any) -> KeptRun:
    options.setdefault("environment", environment())
    return from_frames(frames() if made is None else made, program="train.py", **options)


def with_digest(frame: Frame, entry: int, digest: int) -> Frame:
    changed = bytearray(frame.digests)
    changed[8 * entry : 8 * entry + 8] = pack([digest])
    return Frame(frame.step, frame.span, frame.layout, bytes(changed), frame.values)


def with_value(frame: Frame, entry: int, value: float) -> Frame:
    changed = with_digest(frame, entry, hash((entry, value)) & (2**63 - 1))
    values = tuple((place, value if place == entry else old) for place, old in frame.values)
    return Frame(frame.step, frame.span, frame.layout, changed.digests, values)


PROGRAM = """
import sys
import keras, numpy as np, tensorflow as tf

keras.utils.set_random_seed(7)
tf.config.experimental.enable_op_determinism()
rate = float(sys.argv[1]) if len(sys.argv) > 1 else 0.01
draw = np.random.default_rng(3)
x, y = draw.random((32, 12, 12, 3), dtype=np.float32), draw.integers(0, 4, 32)
model = keras.Sequential([
    keras.Input((12, 12, 3)),
    keras.layers.Conv2D(8, 3, activation="relu"),
    keras.layers.Conv2D(8, 3),
    keras.layers.GlobalAveragePooling2D(),
    keras.layers.Dense(4),
])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(rate), loss, metrics=["accuracy"])
model.fit(x, y, batch_size=16, epochs=2, verbose=0)
"""
