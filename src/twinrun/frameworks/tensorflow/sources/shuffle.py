"""Shuffles and samplers of tf.data that are given no seed."""

from __future__ import annotations

import inspect
from typing import Any

from twinrun.frameworks import framework_seeds as seeds
from twinrun.frameworks.tensorflow.sources.points import bind, tf_point
from twinrun.protocol.event import Event
from twinrun.protocol.suspect import Weight
from twinrun.sources.stream import StreamSource
from twinrun.twin.callers import caller

_STAGES = ("shuffle", "rejection_resample", "list_files", "random", "sample_from_datasets")


def _stage(name: str) -> Any:
    def wrap(session: Any, original: Any) -> Any:
        from tensorflow.python.eager import context

        static = isinstance(original, staticmethod)
        build = original.__func__ if static else original
        signature = inspect.signature(build)

        def stage(*args: Any, **kwargs: Any) -> Any:
            who = caller()
            call = bind(signature, args, kwargs)
            if call is None:
                return build(*args, **kwargs)
            given = call.arguments
            in_order = name == "list_files" and given.get("shuffle") is False
            seeded = given.get("seed") is not None or context.global_seed() is not None or in_order
            number = session.log.frozen("shuffle", "stage", who)
            if number is not None and not seeded:
                given["seed"] = number
            session.log.record("shuffle", "stage", who, f"Dataset.{name}", seeded=seeded)
            return build(*call.args, **call.kwargs)

        return staticmethod(stage) if static else stage

    return wrap


def _separate_seeds(session: Any, original: Any) -> Any:
    """Unseeded shuffles and samplers take their op seed from the same stream as every other eager op, in the order in
    which they are made: one more `tf.random.normal` would shuffle the data differently. They get their own stream."""
    import tensorflow as tf

    def get_seed(seed: Any) -> Any:
        pins = session.pins
        if seed is None and pins.pins("tensorflow-seed") and tf.executing_eagerly():
            seed = seeds.data_seed(pins.request.seed, pins.turn("tf.data"))
        return original(seed)

    return get_seed


# Installed with the control `tensorflow-seed`.
SEPARATE_SEEDS = tf_point(
    "data.util.random_seed:get_seed",
    _separate_seeds,
    "unseeded shuffles get seeds of their own while pinned",
    "pin",
    everywhere=True,
)


class Shuffle(StreamSource):
    name = "shuffle"
    codes = ("TW201",)
    stream = "tf-random"
    title = "TensorFlow's seed"
    code = "TW201"
    draw_action = "stage"
    actions = ("stage",)
    compares_values = False
    weight = Weight(init=1, batch=10, later=3)
    points = tuple(
        tf_point(f"data.ops.dataset_ops:DatasetV2.{name}", _stage(name), "to see whether it is given a seed")
        for name in _STAGES
    )

    def is_own(self, event: Event) -> bool:
        return True

    def message(self, code: str, event: Event) -> str:
        return f"{event.call} has no seed"
