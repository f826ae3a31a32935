"""Shuffles and samplers of tf.data that are given no seed."""

from __future__ import annotations

import inspect
from typing import Any

from twinrun.frameworks.packages import tf_point, tf_points
from twinrun.frameworks.tensorflow.points import bind, op_seed
from twinrun.frameworks.tensorflow.runtime import context, tf
from twinrun.protocol.event import Event
from twinrun.protocol.suspect import Weight
from twinrun.sources.stream import StreamSource
from twinrun.twin.callers import caller

_STAGES = ("shuffle", "rejection_resample", "list_files", "random", "sample_from_datasets")


def _stage(session: Any, original: Any) -> Any:
    build = getattr(original, "__func__", original)
    signature = inspect.signature(build)

    def stage(*args: Any, **kwargs: Any) -> Any:
        who = caller()
        call = bind(signature, args, kwargs)
        if call is None:
            return build(*args, **kwargs)
        given = call.arguments
        in_order = build.__name__ == "list_files" and given.get("shuffle") is False
        seeded = given.get("seed") is not None or context.global_seed() is not None or in_order
        number = session.log.frozen("shuffle", "stage", who)
        if number is not None and not seeded:
            given["seed"] = number
        session.log.record("shuffle", "stage", who, f"Dataset.{build.__name__}", seeded=seeded)
        return build(*call.args, **call.kwargs)

    return staticmethod(stage) if isinstance(original, staticmethod) else stage


def _separate_seeds(session: Any, original: Any) -> Any:
    """Unseeded shuffles and samplers take their op seed from the same stream as every other eager op, in the order in
    which they are made: one more `tf.random.normal` would shuffle the data differently. They get their own stream."""

    def get_seed(seed: Any) -> Any:
        pins = session.pins
        if seed is None and pins.pins("tensorflow-seed") and tf.executing_eagerly():
            seed = op_seed(pins.request.seed, f"tf.data\n{pins.turn('tf.data')}")
        return original(seed)

    return get_seed


# Installed with the control `tensorflow-seed`.
SEPARATE_SEEDS = tf_point(
    "data.util.random_seed:get_seed", _separate_seeds, "a seed for unseeded shuffles", "pin", everywhere=True
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
    points = tf_points(
        "data.ops.dataset_ops:DatasetV2.{}", _STAGES, _stage, "to see whether it is given a seed"
    )

    def is_own(self, event: Event) -> bool:
        return True

    def message(self, code: str, event: Event) -> str:
        return f"{event.call} has no seed"
