"""Shuffles and samplers of tf.data that are given no seed."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from twinrun.frameworks.packages import tf_point, tf_points
from twinrun.frameworks.tensorflow.points import bind, op_seed
from twinrun.frameworks.tensorflow.runtime import context, random_seed, tf
from twinrun.protocol.event import Event
from twinrun.protocol.suspect import Weight
from twinrun.sources.stream import StreamSource
from twinrun.twin.callers import caller

PIPELINE = "pipeline"  # the stream
_CONTROL = "tensorflow-seed"
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
        if seed is None and pins.pins(_CONTROL) and tf.executing_eagerly():
            turn = pins.turn(f"{_CONTROL}\ntf.data")
            seed = op_seed(
                pins.request.seed_of(PIPELINE), f"tf.data\n{pins.replaced.get(_CONTROL, '')}{turn}"
            )
        with _pipeline():
            return original(seed)

    return get_seed


class _Pipelines(threading.local):
    depth = 0  # of stages that this thread is making


_making = _Pipelines()


@contextmanager
def _pipeline() -> Iterator[None]:
    _making.depth += 1
    try:
        yield
    finally:
        _making.depth -= 1


def _function(session: Any, original: Any) -> Any:
    """The function of a stage is traced in here."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        with _pipeline():
            original(self, *args, **kwargs)

    return __init__


def _separate_ops(session: Any, original: Any) -> Any:
    """Where the program's own seeds are replaced, random ops of pipelines have a global seed of their own, apart from
    that of all other ops. One that is given a seed is as it would be without Twinrun, unless the program sets a global
    one too."""

    def get_seed(seed: Any) -> Any:
        pins = session.pins
        found = original(seed)
        if not (pins.request is not None and pins.request.reseed and pins.pins(_CONTROL)):
            return found
        own = pins.replaced.get(_CONTROL)
        if seed is not None and own is None:
            return random_seed.DEFAULT_GRAPH_SEED, found[1]
        if not _making.depth:
            return found
        return op_seed(pins.request.seed_of(PIPELINE), f"tf.data ops\n{own or ''}"), found[1]

    return get_seed


# Installed with the control `tensorflow-seed`.
SEPARATE_SEEDS = (
    tf_point(
        "data.util.random_seed:get_seed",
        _separate_seeds,
        "a seed for unseeded shuffles",
        "pin",
        everywhere=True,
    ),
    tf_point(
        "data.ops.structured_function:StructuredFunctionWrapper.__init__",
        _function,
        "to tell the random ops of pipelines from others",
        "pin",
    ),
    tf_point(
        "framework.random_seed:get_seed",
        _separate_ops,
        "a seed for random ops of pipelines",
        "pin",
        everywhere=True,
    ),
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
