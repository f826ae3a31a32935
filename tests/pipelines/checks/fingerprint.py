"""Fingerprints of the order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import twinrun
from twinrun.errors import UsageError
from twinrun.pipelines.stream_fingerprint import CannotFingerprint, ElementDigest, element_digest

D = tf.data.Dataset
of = twinrun.data_fingerprint


def same_data_in_another_order_and_other_data_are_told_apart() -> None:
    first = of(D.range(40))
    assert first.compared_with(of(D.range(40))) == "same"
    assert first.compared_with(of(D.range(40).shuffle(40))) == "same data, other order"
    assert first.compared_with(of(D.range(41))) == "other data"
    assert first.compared_with(of(D.range(39).concatenate(D.from_tensors(np.int64(7))))) == "other data"


def an_element_seen_twice_does_not_cancel_itself() -> None:
    once = of(D.range(4))
    twice = of(D.range(4).concatenate(D.from_tensor_slices(np.array([9, 9]))))
    assert once.unordered != twice.unordered


def epochs_are_fingerprinted_one_by_one() -> None:
    found = of(D.range(20).shuffle(20, seed=1), epochs=3)
    assert found.elements == 60 and len(found.epochs) == 3
    assert len({epoch.ordered for epoch in found.epochs}) == 3
    assert len({epoch.unordered for epoch in found.epochs}) == 1


def type_shape_and_structure_count() -> None:
    digests = {
        element_digest(value)
        for value in (
            np.zeros(4, np.float32),
            np.zeros(4, np.int32),
            np.zeros((2, 2), np.float32),
            (np.zeros(4, np.float32),),
            {"a": np.zeros(4, np.float32)},
            {"b": np.zeros(4, np.float32)},
            np.array([b"ab", b"c"], object),
            np.array([b"a", b"bc"], object),
        )
    }
    assert len(digests) == 8
    assert element_digest({"a": 1, "b": 2}) == element_digest({"b": 2, "a": 1})
    assert element_digest(np.zeros((3, 4)).T) == element_digest(np.ascontiguousarray(np.zeros((3, 4)).T))


def ragged_sparse_strings_bfloat16_and_nested_datasets_have_fingerprints() -> None:
    def element(number: float) -> Any:
        return {
            "ragged": tf.ragged.constant([[1.0], [2.0, number]]),
            "sparse": tf.sparse.from_dense([0.0, number]),
            "text": tf.constant(["x", str(number)]),
            "small": tf.cast([number], tf.bfloat16),
        }

    one, again, other = (of(D.from_tensors(element(number))) for number in (3.0, 3.0, 4.0))
    assert one.ordered == again.ordered != other.ordered
    windows = of(D.range(6).window(3))
    assert windows.elements == 2 and windows.ordered != of(D.range(6).window(2)).ordered


def an_endless_dataset_needs_a_limit() -> None:
    endless = D.range(3).repeat()
    with pytest.raises(UsageError, match="no end"):
        of(endless)
    cut = of(endless, limit=7)
    assert cut.elements == 7 and not cut.complete
    assert of(D.range(7), limit=7).ordered == of(D.range(7)).ordered


def a_dataset_that_raises_in_the_middle_says_after_how_many_elements() -> None:
    ds = D.range(5).map(
        lambda x: tf.debugging.check_numerics(1.0 / tf.cast(x - 3, tf.float32), "not a number")
    )
    with pytest.raises(CannotFingerprint, match="raised after 3 elements: InvalidArgumentError"):
        of(ds)
    assert of(ds, limit=3).elements == 3


def a_variant_is_named() -> None:
    empty = tf.raw_ops.EmptyTensorList(
        element_shape=tf.constant([], tf.int32), max_num_elements=3, element_dtype=tf.float32
    )
    with pytest.raises(CannotFingerprint, match=r"element\['a'\]\[1\] is a variant"):
        of(D.from_tensors({"a": (1, empty)}))


def inside_a_function_there_are_no_bits_to_look_at() -> None:
    outside = D.range(3)

    @tf.function
    def run() -> None:
        for ds in (outside, D.range(3)):
            with pytest.raises(CannotFingerprint, match=r"inside a tf\.function"):
                of(ds)

    run()


def a_running_digest_is_the_same_as_the_whole() -> None:
    running = ElementDigest()
    for element in D.range(30).batch(4):
        running.add(element)
    whole = of(D.range(30).batch(4))
    assert (running.fingerprint().ordered, running.fingerprint().unordered) == (
        whole.ordered,
        whole.unordered,
    )


def anything_iterable_can_be_fingerprinted() -> None:
    arrays = [np.arange(4) * number for number in range(3)]
    assert of(arrays).elements == 3
    assert of(arrays).ordered == of(D.from_tensor_slices(np.stack(arrays))).ordered
