"""Small programs for TensorFlow's distribution strategies, put together from parts."""

from __future__ import annotations

from pathlib import Path

from support import write

DATA = """
import json, os, sys
import numpy as np
import tensorflow as tf
import {keras} as keras
x = np.random.default_rng(1).standard_normal(({rows}, {width})).astype("f")
y = x.sum(1, keepdims=True)
"""
MODEL = """
keras.utils.set_random_seed(1)
with strategy.scope():
    model = keras.Sequential([keras.Input(({width},)), keras.layers.Dense(3), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.1)
    model.compile(optimizer, "mse")
    optimizer.build(model.trainable_variables)
"""
WORKERS = """
strategy = tf.distribute.MultiWorkerMirroredStrategy()
me = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
"""
FIT = """
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(8).with_options(options), epochs=1, verbose=2)
"""
LOOP = """
def data(context):
    whole = tf.data.Dataset.from_tensor_slices((x, y))
    mine = whole.shard(context.num_input_pipelines, context.input_pipeline_id)
    return mine.batch(context.get_per_replica_batch_size(8))
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((model(x, training=True) - y) ** 2) / 8
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
@tf.function
def train(batch):
    return strategy.reduce("SUM", strategy.run(step, args=batch), axis=None)
def after(number):
    pass
for number, batch in enumerate(strategy.distribute_datasets_from_function(data), start=1):
    print(float(train(batch)), flush=True)
    after(number)
"""


EAGER_LOOP = LOOP.replace("@tf.function\n", "")


def program(
    folder: Path, *parts: str, keras: str = "keras", rows: int = 32, width: int = 4, name: str = "train.py"
) -> Path:
    text = "".join(parts)
    for place, value in (("{keras}", keras), ("{rows}", str(rows)), ("{width}", str(width))):
        text = text.replace(place, value)
    return write(folder, text, name)


def line_of(path: Path, text: str) -> int:
    lines = path.read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)
