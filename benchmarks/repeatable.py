"""What `repeatable` costs: elements per second over the original pipeline's, side by side in one run.

An image pipeline (shuffle, decode, random augmentation with num_parallel_calls=2, batch, prefetch), the same
made repeatable, and the original under op determinism, which runs such a map one call at a time. Rounds are
interleaved, so that a busy machine is busy for all of them; the ratio is the median over rounds.

    python benchmarks/repeatable.py [--rounds 7] [--images 2000]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
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


def seconds(dataset: Any) -> float:
    start = time.perf_counter()
    for _ in dataset:
        pass
    return time.perf_counter() - start


def with_op_determinism(run: Callable[[], float]) -> float:
    config.enable_op_determinism()
    try:
        return run()
    finally:
        config.disable_op_determinism()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--calls", type=int, default=2)
    arguments = parser.parse_args()
    tf.random.set_seed(1)
    pixels = np.random.default_rng(0).integers(0, 255, (64, 128, 128, 3), np.uint8)
    encoded = [tf.io.encode_jpeg(one).numpy() for one in pixels]
    encoded = [encoded[number % len(encoded)] for number in range(arguments.images)]

    original = pipeline(encoded, arguments.calls)
    repeatable = twinrun.repeatable(pipeline(encoded, arguments.calls), seed=42)
    determined = pipeline(encoded, arguments.calls)
    for dataset in (original, repeatable):
        seconds(dataset)
    rounds = []
    for _ in range(arguments.rounds):
        first = seconds(original)
        second = seconds(repeatable)
        third = with_op_determinism(lambda: seconds(determined))
        rounds.append((first, second, third))
    base = statistics.median(first for first, _, _ in rounds)
    ratios = [statistics.median(first / other[place] for first, *other in rounds) for place in (0, 1)]
    print(f"original, num_parallel_calls={arguments.calls}: {arguments.images / base:.0f} images/s")
    print(f"repeatable / original:              {ratios[0]:.3f}")
    print(f"op determinism / original:          {ratios[1]:.3f}")
    print(json.dumps({"repeatable": round(ratios[0], 3), "op_determinism": round(ratios[1], 3)}))


if __name__ == "__main__":
    main()
