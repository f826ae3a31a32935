"""Writes sensor readings as TFRecord shards, and parses them."""
import os

import numpy as np
import tensorflow as tf

FEATURES = 6


def example(x, y):
    feature = {
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=x)),
        "y": tf.train.Feature(float_list=tf.train.FloatList(value=[y])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature))


def write_shards(folder, shards, rows):
    weights = np.linspace(-1.0, 1.0, FEATURES)
    for shard in range(shards):
        path = os.path.join(folder, f"readings-{shard:02d}.tfrecord")
        with tf.io.TFRecordWriter(path) as writer:
            for row in range(rows):
                x = np.sin(np.arange(FEATURES) * (row + 1) * 0.37 + shard)
                y = x @ weights + np.random.normal(scale=0.1)
                writer.write(example(x, y).SerializeToString())


def parse(record):
    parsed = tf.io.parse_single_example(
        record,
        {"x": tf.io.FixedLenFeature([FEATURES], tf.float32), "y": tf.io.FixedLenFeature([], tf.float32)},
    )
    return parsed["x"], parsed["y"]
