"""Pipelines of every kind. `#! TW…` marks a statement where the audit must find that code, and no other.

Each builder takes the number of parallel calls. Those in RACING do not repeat as they are; those in FIXED do,
and have no finding; those in REFUSED do not repeat and cannot be made to.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

Builder = Callable[[int], Any]
RACING: dict[str, Builder] = {}
FIXED: dict[str, Builder] = {}
REFUSED: dict[str, Builder] = {}
D = tf.data.Dataset
GENERATOR = tf.random.Generator.from_seed(7)
COUNTER = tf.Variable(0, dtype=tf.int64)
SHARED_RNG = np.random.default_rng(7)
TABLE = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(tf.range(64, dtype=tf.int64), tf.range(64, dtype=tf.int64) * 3), 0
)
FLIP = keras.layers.RandomFlip(seed=3)
FOLDER = Path(tempfile.mkdtemp(prefix="twinrun-corpus-"))
for _number in range(6):
    (FOLDER / f"part-{_number}.txt").write_text("".join(f"{_number}{line}\n" for line in range(5)))
with tf.io.TFRecordWriter(str(FOLDER / "records.tfrecord")) as _writer:
    for _number in range(12):
        _writer.write(bytes([_number]))


def racing(builder: Builder) -> Builder:
    RACING[builder.__name__] = builder
    return builder


def fixed(builder: Builder) -> Builder:
    FIXED[builder.__name__] = builder
    return builder


def refused(builder: Builder) -> Builder:
    REFUSED[builder.__name__] = builder
    return builder


def images() -> Any:
    return D.from_tensor_slices(np.arange(24 * 4 * 4 * 3, dtype=np.float32).reshape(24, 4, 4, 3) / 1000)


def busy(value: Any) -> Any:
    """Some work that takes longer for some elements, so that parallel calls overtake each other."""
    size = tf.where(value % 3 == 0, 6_000, 10)
    return value + tf.cast(
        tf.reduce_sum(tf.sort(tf.random.stateless_uniform([size], (1, 2)))) * 0, value.dtype
    )


# -- shuffle ---------------------------------------------------------------------------------------------


@racing
def unseeded_shuffle(calls: int) -> Any:
    ds = D.range(40)
    ds = ds.shuffle(10)  #! TW201
    return ds.batch(8)


@racing
def unseeded_shuffle_that_does_not_reshuffle(calls: int) -> Any:
    ds = D.range(40)
    return ds.shuffle(40, reshuffle_each_iteration=False)  #! TW201


@fixed
def seeded_shuffle(calls: int) -> Any:
    return D.range(40).shuffle(40, seed=3).batch(8)


@fixed
def seeded_shuffle_that_does_not_reshuffle(calls: int) -> Any:
    return D.range(40).shuffle(10, seed=3, reshuffle_each_iteration=False)


@racing
def two_shuffles_one_seeded(calls: int) -> Any:
    ds = D.range(40).shuffle(10, seed=1)
    ds = ds.shuffle(5)  #! TW201
    return ds


@racing
def shuffle_then_repeat(calls: int) -> Any:
    ds = D.range(10)
    ds = ds.shuffle(10)  #! TW201
    return ds.repeat(3).batch(4)


@racing
def shuffle_then_repeat_forever(calls: int) -> Any:
    ds = D.range(10)
    ds = ds.shuffle(10)  #! TW201
    return ds.repeat().batch(4).take(9)


@racing
def shuffle_of_unknown_length_repeated_forever(calls: int) -> Any:
    ds = D.range(20).filter(lambda x: x % 2 == 0)
    ds = ds.shuffle(10)  #! TW201
    return ds.repeat().take(25)


# -- random ops in functions -----------------------------------------------------------------------------


@racing
def random_op_in_parallel_map(calls: int) -> Any:
    ds = D.range(64)
    ds = ds.map(
        lambda x: tf.cast(busy(x), tf.float32) + tf.random.uniform([]), num_parallel_calls=calls
    )  #! TW203
    return ds.batch(8)


@racing
def seeded_random_op_in_parallel_map(calls: int) -> Any:
    ds = D.range(64)
    ds = ds.map(
        lambda x: tf.random.normal([2], seed=4) + tf.cast(busy(x), tf.float32), num_parallel_calls=calls
    )  #! TW203
    return ds


@racing
def unseeded_random_op_in_plain_map(calls: int) -> Any:
    ds = D.range(16)
    return ds.map(lambda x: tf.random.uniform([], maxval=100, dtype=tf.int32))  #! TW104


@fixed
def seeded_random_op_in_plain_map(calls: int) -> Any:
    return D.range(16).map(lambda x: tf.random.uniform([], seed=5))


@racing
def image_augmentation(calls: int) -> Any:
    def augment(image: Any) -> Any:
        image = tf.image.random_flip_left_right(image)
        image = tf.image.random_brightness(image, 0.3)
        image = tf.image.random_contrast(image, 0.5, 1.5)
        return tf.image.random_crop(image, [3, 3, 3])

    ds = images().shuffle(24, seed=1)
    ds = ds.map(augment, num_parallel_calls=calls)  #! TW203
    return ds.batch(6).prefetch(2)


@racing
def every_stateful_distribution(calls: int) -> Any:
    def draw(x: Any) -> Any:
        return {
            "shuffled": tf.random.shuffle(tf.range(8)),
            "gamma": tf.random.gamma([2], [1.5, 2.5]),
            "poisson": tf.random.poisson([2], [3.0, 4.0]),
            "truncated": tf.random.truncated_normal([3]),
            "categorical": tf.random.categorical(tf.zeros([2, 5]), 4),
            "box": tf.image.sample_distorted_bounding_box(
                [16, 16, 3], tf.zeros([1, 0, 4]), use_image_if_no_bounding_boxes=True
            )[0],
            "x": busy(x),
        }

    ds = D.range(24)
    return ds.map(draw, num_parallel_calls=calls)  #! TW203


@racing
def draws_in_branches_and_loops(calls: int) -> Any:
    @tf.function
    def walk(x: Any) -> Any:
        total = tf.constant(0.0)
        for _ in tf.range(4):
            total += tf.random.uniform([])
        if x % 2 == 0:
            total += tf.random.normal([])
        else:
            total -= 100.0
        return total

    ds = D.range(32)
    ds = ds.map(lambda x: walk(busy(x)), num_parallel_calls=calls)  #! TW203
    return ds


@racing
def draws_in_map_fn(calls: int) -> Any:
    ds = D.range(24).map(lambda x: tf.fill([3], tf.cast(busy(x), tf.float32)))
    ds = ds.map(
        lambda x: tf.map_fn(lambda v: v + tf.random.uniform([]), x), num_parallel_calls=calls
    )  #! TW203
    return ds


@racing
def generator_in_parallel_map(calls: int) -> Any:
    ds = D.range(48)
    return ds.map(
        lambda x: GENERATOR.normal([2]) + tf.cast(busy(x), tf.float32), num_parallel_calls=calls
    )  #! TW203


@racing
def keras_layer_in_parallel_map(calls: int) -> Any:
    ds = images()
    return ds.map(lambda x: FLIP(x, training=True), num_parallel_calls=calls)  #! TW203


@racing
def random_filter(calls: int) -> Any:
    ds = D.range(64)
    return ds.filter(lambda x: tf.random.uniform([]) < 0.5)  #! TW104


@racing
def random_scan(calls: int) -> Any:
    ds = D.range(16)
    return ds.scan(0.0, lambda state, x: (state + tf.random.uniform([]), state))  #! TW104


@racing
def random_take_while(calls: int) -> Any:
    ds = D.range(64)
    return ds.take_while(lambda x: tf.random.uniform([]) < 0.95)  #! TW104


@racing
def autotuned_map(calls: int) -> Any:
    ds = D.range(64)
    return ds.map(
        lambda x: tf.cast(busy(x), tf.float32) + tf.random.uniform([]), num_parallel_calls=tf.data.AUTOTUNE
    )  #! TW203


@fixed
def stateless_draws_by_index(calls: int) -> Any:
    ds = D.range(64).enumerate()
    return ds.map(lambda i, x: tf.random.stateless_uniform([], tf.stack([i, x])), num_parallel_calls=calls)


# -- order -----------------------------------------------------------------------------------------------


@racing
def order_given_up_on_a_map(calls: int) -> Any:
    ds = D.range(64)
    return ds.map(busy, num_parallel_calls=calls, deterministic=False)  #! TW202


@racing
def order_given_up_on_an_interleave(calls: int) -> Any:
    ds = D.range(8)
    return ds.interleave(
        lambda x: D.range(6).map(lambda v: busy(v * 3) + x * 10),
        cycle_length=8,
        num_parallel_calls=calls,
        deterministic=False,
    )  #! TW202


@racing
def order_given_up_on_a_batch(calls: int) -> Any:
    ds = D.range(64).map(busy)
    return ds.batch(4, num_parallel_calls=calls, deterministic=False)  #! TW202


@racing
def order_given_up_in_options(calls: int) -> Any:
    options = tf.data.Options()
    options.deterministic = False
    ds = D.range(64).map(busy, num_parallel_calls=calls)
    return ds.with_options(options)  #! TW202


@racing
def order_given_up_in_options_of_one_branch(calls: int) -> Any:
    options = tf.data.Options()
    options.deterministic = False
    left = D.range(64).map(busy, num_parallel_calls=calls)
    right = D.range(64).with_options(options)  #! TW202
    return D.zip((left, right))


@racing
def options_reach_into_functions(calls: int) -> Any:
    options = tf.data.Options()
    options.deterministic = False
    ds = D.range(2).flat_map(lambda _: D.range(32).map(busy, num_parallel_calls=calls))
    return ds.with_options(options).batch(8)  #! TW202


@fixed
def options_inside_a_function_do_nothing(calls: int) -> Any:
    options = tf.data.Options()
    options.deterministic = False
    return D.range(2).flat_map(lambda _: D.range(8).map(busy, num_parallel_calls=calls).with_options(options))


@fixed
def options_taken_back(calls: int) -> Any:
    loose, strict = tf.data.Options(), tf.data.Options()
    loose.deterministic, strict.deterministic = False, True
    return D.range(16).with_options(loose).map(busy, num_parallel_calls=calls).with_options(strict)


@fixed
def options_without_parallel_stages(calls: int) -> Any:
    options = tf.data.Options()
    options.deterministic = False
    return D.range(16).map(busy).with_options(options)


@fixed
def stage_keeps_its_order_against_the_options(calls: int) -> Any:
    options = tf.data.Options()
    options.deterministic = False
    return D.range(16).with_options(options).map(busy, num_parallel_calls=calls, deterministic=True)


@fixed
def parallel_map_with_its_order(calls: int) -> Any:
    return D.range(64).map(busy, num_parallel_calls=calls).batch(8).prefetch(tf.data.AUTOTUNE)


# -- nested ----------------------------------------------------------------------------------------------


@racing
def random_map_inside_a_parallel_interleave(calls: int) -> Any:
    def one(x: Any) -> Any:
        inner = D.range(8)
        return inner.map(lambda v: tf.cast(busy(v + x), tf.float32) + tf.random.uniform([]))  #! TW203

    return D.range(8).interleave(one, cycle_length=8, num_parallel_calls=calls)


@racing
def unseeded_shuffle_inside_a_flat_map(calls: int) -> Any:
    def one(x: Any) -> Any:
        inner = D.range(x, x + 6)
        return inner.shuffle(6)  #! TW201

    return D.range(8).flat_map(one)


@racing
def random_map_repeated_inside_a_flat_map(calls: int) -> Any:
    def one(x: Any) -> Any:
        inner = D.from_tensors(tf.cast(x, tf.float32))
        inner = inner.map(lambda v: v + tf.random.uniform([]))  #! TW104
        return inner.repeat(3)

    return D.range(6).flat_map(one)


@racing
def shuffle_inside_group_by_window(calls: int) -> Any:
    def reduce(_: Any, window: Any) -> Any:
        window = window.shuffle(8)  #! TW201
        return window.batch(4)

    return D.range(48).group_by_window(lambda x: x % 3, reduce, window_size=8)


@fixed
def windows(calls: int) -> Any:
    return D.range(40).window(5, shift=2, drop_remainder=True).flat_map(lambda w: w.batch(5))


@fixed
def group_by_window(calls: int) -> Any:
    return D.range(40).group_by_window(lambda x: x % 3, lambda _, w: w.batch(4), window_size=4)


@fixed
def seeded_shuffle_inside_a_flat_map(calls: int) -> Any:
    return D.range(8).flat_map(lambda x: D.range(x, x + 6).shuffle(6, seed=2))


# -- sources ---------------------------------------------------------------------------------------------


@racing
def unseeded_list_files(calls: int) -> Any:
    ds = D.list_files(str(FOLDER / "part-*.txt"))  #! TW201
    return ds.interleave(tf.data.TextLineDataset, cycle_length=4, num_parallel_calls=min(calls, 4))


@fixed
def sorted_list_files(calls: int) -> Any:
    return D.list_files(str(FOLDER / "part-*.txt"), shuffle=False).flat_map(tf.data.TextLineDataset)


@racing
def shuffle_behind_a_snapshot(calls: int) -> Any:
    ds = D.range(12).snapshot(tempfile.mkdtemp(dir=FOLDER))
    return ds.shuffle(12)  #! TW201


@racing
def shuffle_of_what_was_saved(calls: int) -> Any:
    if not (FOLDER / "saved").exists():
        D.range(12).save(str(FOLDER / "saved"))
    ds = D.load(str(FOLDER / "saved"))
    return ds.shuffle(12)  #! TW201


@fixed
def records(calls: int) -> Any:
    return tf.data.TFRecordDataset([str(FOLDER / "records.tfrecord")] * 2, num_parallel_reads=2)


@racing
def unseeded_sampling(calls: int) -> Any:
    first, second = D.range(40), D.range(100, 140)
    return D.sample_from_datasets([first, second], [0.5, 0.5])  #! TW201


@fixed
def seeded_sampling(calls: int) -> Any:
    return D.sample_from_datasets([D.range(40), D.range(100, 140)], [0.5, 0.5], seed=3)


@fixed
def chosen(calls: int) -> Any:
    choice = D.range(2).repeat(4)
    return D.choose_from_datasets([D.range(4), D.range(10, 14)], choice)


@racing
def unseeded_random_source(calls: int) -> Any:
    return D.random().take(10)  #! TW104


@racing
def unseeded_resampling(calls: int) -> Any:
    ds = D.range(64)
    return ds.rejection_resample(lambda x: tf.cast(x % 2, tf.int32), [0.2, 0.8], [0.5, 0.5])  #! TW104 TW201


@fixed
def everything_plain(calls: int) -> Any:
    ds = D.zip((D.range(30), D.range(30, 60))).concatenate(D.zip((D.range(5), D.range(5))))
    ds = ds.skip(1).take(30).shard(2, 0).cache().repeat(2).enumerate()
    return ds.batch(4, drop_remainder=True).unbatch().prefetch(2)


@fixed
def looked_up(calls: int) -> Any:
    return D.range(32).map(TABLE.lookup, num_parallel_calls=calls)


@fixed
def padded_and_ragged(calls: int) -> Any:
    lengths = D.range(1, 9)
    left = lengths.map(tf.range).padded_batch(4)
    right = lengths.map(tf.range).ragged_batch(4)
    return D.zip((left, right)).rebatch(2)


@fixed
def unique_and_scanned(calls: int) -> Any:
    return (
        D.range(20)
        .map(lambda x: x // 2)
        .unique()
        .scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s))
        .ignore_errors()
    )


# -- cache -----------------------------------------------------------------------------------------------


@racing
def cache_behind_augmentation(calls: int) -> Any:
    ds = D.range(32)
    ds = ds.map(
        lambda x: tf.cast(busy(x), tf.float32) + tf.random.uniform([]), num_parallel_calls=calls
    )  #! TW203
    return ds.cache()  #! TW107


@racing
def cache_before_augmentation(calls: int) -> Any:
    ds = D.range(32).map(busy).cache()
    ds = ds.map(lambda x: tf.cast(x, tf.float32) + tf.random.uniform([]), num_parallel_calls=calls)  #! TW203
    return ds.repeat(2)


@racing
def shuffle_between_cache_and_map(calls: int) -> Any:
    ds = D.range(32).cache()
    ds = ds.shuffle(32)  #! TW201
    ds = ds.map(
        lambda x: tf.cast(busy(x), tf.float32) + tf.random.uniform([]), num_parallel_calls=calls
    )  #! TW203
    return ds.batch(8)


# -- Python ----------------------------------------------------------------------------------------------


def noisy(value: Any) -> Any:
    return value + np.random.rand()


def jittered(value: Any) -> Any:
    return value + random.random()


def by_element(value: Any) -> Any:
    import twinrun

    return value + twinrun.element_rng().random()


@racing
def numpy_in_parallel_map(calls: int) -> Any:
    ds = D.range(64)
    return ds.map(
        lambda x: tf.numpy_function(noisy, [busy(x)], tf.float64), num_parallel_calls=calls
    )  #! TW204


@racing
def python_random_in_py_function(calls: int) -> Any:
    ds = D.range(32)
    return ds.map(
        lambda x: tf.py_function(jittered, [tf.cast(busy(x), tf.float64)], tf.float64),
        num_parallel_calls=calls,
    )  #! TW204


@racing
def generator_that_draws(calls: int) -> Any:
    def numbers() -> Any:
        order = list(range(20))
        np.random.shuffle(order)
        for number in order:
            yield number + random.random()

    return D.from_generator(numbers, output_signature=tf.TensorSpec([], tf.float64))  #! TW204


@racing
def generator_that_makes_an_unseeded_rng(calls: int) -> Any:
    def numbers() -> Any:
        rng = np.random.default_rng()
        for _ in range(20):
            yield rng.random()

    return D.from_generator(numbers, output_signature=tf.TensorSpec([], tf.float64)).batch(5)  #! TW204


@fixed
def generator_with_its_own_seed(calls: int) -> Any:
    def numbers() -> Any:
        rng = np.random.default_rng(3)
        for _ in range(20):
            yield rng.random()

    return D.from_generator(numbers, output_signature=tf.TensorSpec([], tf.float64))


@fixed
def python_without_draws(calls: int) -> Any:
    return D.range(32).map(
        lambda x: tf.numpy_function(lambda v: v * 2, [x], tf.int64), num_parallel_calls=calls
    )


@fixed
def element_rng_in_parallel_map(calls: int) -> Any:
    return D.range(32).map(lambda x: tf.numpy_function(by_element, [x], tf.float64), num_parallel_calls=calls)


# -- zipped, concatenated, mixed -------------------------------------------------------------------------


@racing
def zipped_random_branches(calls: int) -> Any:
    left = D.range(32)
    left = left.shuffle(8)  #! TW201
    right = D.range(32)
    right = right.map(
        lambda x: tf.cast(busy(x), tf.float32) + tf.random.uniform([]), num_parallel_calls=calls
    )  #! TW203
    return D.zip({"left": left, "right": (right, D.range(32))})


@racing
def the_same_dataset_twice(calls: int) -> Any:
    ds = D.range(16)
    ds = ds.shuffle(16)  #! TW201
    return D.zip((ds, ds)).concatenate(D.zip((ds, ds)))


@racing
def strings_sparse_and_ragged(calls: int) -> Any:
    def make(x: Any) -> Any:
        ragged = tf.RaggedTensor.from_row_lengths(tf.random.uniform([4]), [1, 3])
        sparse = tf.sparse.from_dense(tf.random.uniform([3]))
        return {"text": tf.strings.as_string(busy(x)), "ragged": ragged, "sparse": sparse}

    ds = D.range(16)
    return ds.map(make, num_parallel_calls=calls)  #! TW203


# -- what cannot be rewritten ----------------------------------------------------------------------------


@refused
def shared_rng_in_parallel_map(calls: int) -> Any:
    ds = D.range(32)
    return ds.map(
        lambda x: tf.numpy_function(lambda v: v + SHARED_RNG.random(), [x], tf.float64),
        num_parallel_calls=calls,
    )  #! TW204


@refused
def entropy_in_a_map(calls: int) -> Any:
    ds = D.range(32)
    return ds.map(lambda x: tf.numpy_function(lambda v: v + os.urandom(1)[0], [x], tf.int64))  #! TW204


@refused
def variable_that_parallel_calls_update(calls: int) -> Any:
    ds = D.range(32)
    return ds.map(lambda x: 2 * COUNTER.assign_add(x), num_parallel_calls=calls)  #! TW403


@refused
def candidate_sampler(calls: int) -> Any:
    ds = D.range(8).map(lambda x: tf.reshape(x, [1, 1]))
    return ds.map(
        lambda x: tf.random.uniform_candidate_sampler(x, 1, 4, True, 64)[0], num_parallel_calls=calls
    )  #! TW203
