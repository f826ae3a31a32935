"""What `repeatable` costs: elements per second over the original pipeline's, side by side in one run.

An image pipeline (shuffle, decode, random augmentation with num_parallel_calls=2, batch, prefetch), the same made
repeatable, and the original under op determinism, which runs such a map one call at a time. Rounds are interleaved, so
that a busy machine is busy for all of them; ratios are medians over rounds. The ratio of processor time is printed too: it
shows the additional computation, and a busy machine hardly changes it.

    python benchmarks/repeatable.py [--rounds 7] [--images 4000]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import config

import twinrun


def augment(image: Any) -> Any:
    image = tf.image.decode_jpeg(image, channels=3)
    image = tf.image.convert_image_dtype(image, tf.float32)
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, 0.2)
    image = tf.image.random_contrast(image, 0.8, 1.2)
    image = tf.image.random_saturation(image, 0.8, 1.2)
    return tf.image.random_crop(image, [112, 112, 3])


def pipeline(encoded: list[bytes], calls: int) -> Any:
    ds = tf.data.Dataset.from_tensor_slices(encoded)
    ds = ds.shuffle(len(encoded)).map(augment, num_parallel_calls=calls)
    return ds.batch(32).prefetch(tf.data.AUTOTUNE)


def measured(dataset: Any) -> tuple[float, float]:
    """(seconds, processor seconds) of one epoch."""
    start, used = time.perf_counter(), time.process_time()
    for _ in dataset:
        pass
    return time.perf_counter() - start, time.process_time() - used


def with_op_determinism(dataset: Any) -> tuple[float, float]:
    config.enable_op_determinism()
    try:
        return measured(dataset)
    finally:
        config.disable_op_determinism()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--calls", type=int, default=2)
    arguments = parser.parse_args()
    tf.random.set_seed(1)  # op determinism asks for it
    pixels = np.random.default_rng(0).integers(0, 255, (64, 128, 128, 3), np.uint8)
    encoded = [tf.io.encode_jpeg(one).numpy() for one in pixels]
    encoded = [encoded[number % len(encoded)] for number in range(arguments.images)]

    original, determined = (pipeline(encoded, arguments.calls) for _ in range(2))
    repeatable = twinrun.repeatable(pipeline(encoded, arguments.calls), seed=42)
    measured(original)
    measured(repeatable)
    rounds = [
        (measured(original), measured(repeatable), with_op_determinism(determined))
        for _ in range(arguments.rounds)
    ]

    def ratio(place: int, which: int) -> float:
        return round(statistics.median(row[0][which] / row[place][which] for row in rounds), 3)

    def best(place: int) -> float:
        """The fastest rounds of both: what others on the machine have disturbed least."""
        return round(min(row[0][0] for row in rounds) / min(row[place][0] for row in rounds), 3)

    speed = arguments.images / statistics.median(row[0][0] for row in rounds)
    print(f"original, num_parallel_calls={arguments.calls}: {speed:.0f} images/s")
    found = {}
    for place, name in ((1, "repeatable"), (2, "op determinism")):
        wall, used, fastest = ratio(place, 0), ratio(place, 1), best(place)
        print(f"{name} / original: {wall:.3f}   (processor time: {used:.3f}, fastest rounds: {fastest:.3f})")
        found[name] = {"throughput": wall, "processor_time": used, "fastest": fastest}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
