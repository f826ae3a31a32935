"""What fingerprinting the data costs: batches per second over the pipeline's own, side by side in one run.

An image pipeline (decode, random augmentation, batch of 32, prefetch), iterated bare and with every batch taken into
a running fingerprint. Rounds are interleaved; the ratio is the median over rounds. Beside it, the worst case: batches
that only have to be copied from memory.

    python benchmarks/data_fingerprint.py [--rounds 9] [--images 2000]
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

import twinrun


def images(count: int) -> Any:
    pixels = np.random.default_rng(0).integers(0, 255, (64, 128, 128, 3), np.uint8)
    encoded = [tf.io.encode_jpeg(one).numpy() for one in pixels]
    ds = tf.data.Dataset.from_tensor_slices([encoded[number % 64] for number in range(count)])

    def augment(image: Any) -> Any:
        image = tf.image.convert_image_dtype(tf.image.decode_jpeg(image, channels=3), tf.float32)
        image = tf.image.random_flip_left_right(image)
        image = tf.image.random_contrast(image, 0.8, 1.2)
        return tf.image.random_crop(image, [112, 112, 3])

    return ds.map(augment, num_parallel_calls=2).batch(32).prefetch(2)


def memory(count: int) -> Any:
    pixels = np.random.default_rng(0).random((256, 112, 112, 3)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices(pixels).repeat(max(1, count // 256)).batch(32).prefetch(2)


def bare(dataset: Any) -> None:
    for _ in dataset:
        pass


def measured(run: Callable[[Any], Any], dataset: Any) -> tuple[float, float]:
    """(seconds, processor seconds) of one epoch."""
    start, used = time.perf_counter(), time.process_time()
    run(dataset)
    return time.perf_counter() - start, time.process_time() - used


def ratios(dataset: Any, rounds: int) -> tuple[float, float]:
    bare(dataset)
    pairs = [(measured(bare, dataset), measured(twinrun.data_fingerprint, dataset)) for _ in range(rounds)]
    wall, used = (
        statistics.median(alone[which] / printed[which] for alone, printed in pairs) for which in (0, 1)
    )
    return round(wall, 3), round(used, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--images", type=int, default=2000)
    arguments = parser.parse_args()
    found = {}
    for name, dataset in (
        ("image batches", images(arguments.images)),
        ("copied from memory", memory(arguments.images)),
    ):
        wall, used = ratios(dataset, arguments.rounds)
        print(f"fingerprinted / bare, {name}: {wall:.3f}   (processor time: {used:.3f})")
        found[name] = {"throughput": wall, "processor_time": used}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
