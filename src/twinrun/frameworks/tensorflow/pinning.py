"""Every change that pinning makes to TensorFlow itself, each with its reason. Seen to work on TensorFlow 2.18
and 2.21.

Two kinds: functions wrapped so that who calls them is known, and functions wrapped so that a pinned program
gets a seed where it gives none. Both do nothing once the program has set a seed of its own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.data.ops import batch_op, interleave_op, map_op, options, readers
from tensorflow.python.data.util import random_seed as data_random_seed
from tensorflow.python.eager import context
from tensorflow.python.framework import config, ops
from tensorflow.python.ops import image_ops_impl, nn_ops, stateful_random_ops

from twinrun.findings.finding import Finding
from twinrun.protocol import seeds
from twinrun.protocol.control import NotApplied, Undo
from twinrun.twin.callers import user_site
from twinrun.twin.pins import current, user_place
from twinrun.twin.replacing import replace_everywhere

_MARK = "_twinrun_pinned"


def _wrap(original: Callable[..., Any], wrapper: Callable[..., Any]) -> Callable[..., Any]:
    wrapped = functools.wraps(original)(wrapper)
    setattr(wrapped, _MARK, original)
    return wrapped


def _is_wrapped(function: Any) -> bool:
    return hasattr(function, _MARK)


def watch_set_seed() -> None:
    """`tf.random.set_seed` ends in this function of the context, however it was reached."""
    original = context.set_global_seed
    if _is_wrapped(original):
        return

    def set_global_seed(seed: Any) -> None:
        original(seed)
        current().seeded("tensorflow-seed", seed)

    replace_everywhere([(original, _wrap(original, set_global_seed))], "tensorflow")


def seed_what_asks_for_no_seed() -> None:
    """Where the global seed alone would not do, or would tie together what should be apart."""
    pairs = [(op, _seeded(op)) for op in _DEAF_TO_THE_GLOBAL_SEED if not _is_wrapped(op)]
    if not _is_wrapped(data_random_seed.get_seed):
        pairs.append((data_random_seed.get_seed, _separate_data_seeds(data_random_seed.get_seed)))
    replace_everywhere(pairs, "tensorflow")


def _separate_data_seeds(original: Callable[..., Any]) -> Callable[..., Any]:
    """Unseeded shuffles and samplers take their op seed from the same stream as every other eager op, in the
    order in which they are made: one more `tf.random.normal` would shuffle the data otherwise. They get a
    stream of their own."""

    def get_seed(seed: Any) -> Any:
        session = current()
        if seed is None and session.pins("tensorflow-seed") and tf.executing_eagerly():
            assert session.request is not None
            seed = seeds.data_seed(session.request.seed, session.turn("tf.data"))
        return original(seed)

    return _wrap(original, get_seed)


# These take seed=0 for "fresh entropy" whatever the global seed, and refuse to run under op determinism.
_DEAF_TO_THE_GLOBAL_SEED = (
    image_ops_impl.sample_distorted_bounding_box_v2,
    nn_ops.fractional_max_pool_v2,
    nn_ops.fractional_avg_pool_v2,
)


def _seeded(original: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    def wrapper(*given: Any, **named: Any) -> Any:
        session = current()
        if not session.pins("tensorflow-seed"):
            return original(*given, **named)
        call = signature.bind(*given, **named)
        if not call.arguments.get("seed"):
            assert session.request is not None
            name = original.__name__
            call.arguments["seed"] = seeds.augmentation_seed(session.request.seed, name, session.turn(name))
        return original(*call.args, **call.kwargs)

    return _wrap(original, wrapper)


def global_generator() -> Any:
    return stateful_random_ops.global_generator


def seed_global_generator() -> Undo:
    """TensorFlow makes its global generator from fresh entropy when it is first asked for. Ours is made at
    the same moment, not before: making it starts the runtime, and the program may not have chosen its devices
    yet."""
    before = global_generator()
    get, set_ = stateful_random_ops.get_global_generator, stateful_random_ops.set_global_generator
    if not _is_wrapped(get):

        def get_global_generator() -> Any:
            if global_generator() is None and current().pins("tensorflow-generator"):
                _make_global_generator()
            return get()

        def set_global_generator(generator: Any) -> None:
            set_(generator)
            current().seeded("tensorflow-generator", None, restored=True)

        pairs = [(get, _wrap(get, get_global_generator)), (set_, _wrap(set_, set_global_generator))]
        replace_everywhere(pairs, "tensorflow")
    if before is not None:
        _make_global_generator()

    def undo() -> None:
        stateful_random_ops.global_generator = before
        current().seedings.pop("tensorflow-generator", None)

    return undo


def _make_global_generator() -> None:
    session = current()
    assert session.request is not None
    seed = seeds.tensorflow_generator_seed(session.request.seed)
    with ops.init_scope(), session.acting():
        generator = tf.random.Generator.from_key_counter(key=seed, counter=[0, 0], alg="philox")
        stateful_random_ops.set_global_generator(generator)


def let_fresh_entropy_through() -> None:
    """Under op determinism `Generator.from_non_deterministic_state` raises and the program stops. Fresh
    entropy is the program's own choice: it gets it, and it is named."""
    original = tf.random.Generator.__dict__["from_non_deterministic_state"].__func__
    if _is_wrapped(original):
        return

    def from_non_deterministic_state(cls: Any, alg: Any = None) -> Any:
        if not (current().pins("op-determinism") and config.is_op_determinism_enabled()):
            return original(cls, alg)
        file, line = user_site() or (None, None)
        current().note(
            Finding(
                code="TW103",
                name="unseeded-generator",
                message="a tf.random.Generator is made from fresh entropy, which pinning cannot replace",
                file=file,
                line=line,
                evidence=("tf.random.Generator.from_non_deterministic_state() was called",),
                fix="tf.random.Generator.from_seed(42)",
            )
        )
        config.disable_op_determinism()
        try:
            return original(cls, alg)
        finally:
            config.enable_op_determinism()

    tf.random.Generator.from_non_deterministic_state = classmethod(
        _wrap(original, from_non_deterministic_state)
    )


# Where a dataset may be told to hand out its elements in whatever order they are ready.
_ORDERED = (
    (map_op._ParallelMapDataset, "deterministic", False, True),
    (interleave_op._ParallelInterleaveDataset, "deterministic", False, True),
    (batch_op._ParallelBatchDataset, "deterministic", False, True),
    (readers.ParallelInterleaveDataset, "sloppy", True, False),
)


def keep_data_order() -> Undo:
    """`deterministic=False` asks for the order of completion. Op determinism overrides it inside TensorFlow's
    optimiser; this does the same where op determinism is off, and says where it was asked for. Maps that hold
    random ops are made sequential by op determinism alone."""
    for kind, argument, bad, good in _ORDERED:
        if not _is_wrapped(kind.__init__):
            kind.__init__ = _with_argument(kind.__init__, argument, bad, good)
    original = options.Options._to_proto
    if not _is_wrapped(original):

        def to_proto(self: Any) -> Any:
            proto = original(self)
            if current().pins("tf-data-order") and self.deterministic is False:
                current().overridden.append(user_place() or "?")
                proto.deterministic = True
            return proto

        options.Options._to_proto = _wrap(original, to_proto)
    if not data_order_is_kept():
        raise NotApplied("this TensorFlow builds its datasets in a way that Twinrun does not know")

    def undo() -> None:
        for kind, *_ in _ORDERED:
            kind.__init__ = getattr(kind.__init__, _MARK, kind.__init__)
        options.Options._to_proto = getattr(options.Options._to_proto, _MARK, options.Options._to_proto)

    return undo


def data_order_is_kept() -> bool:
    return current().pins("tf-data-order") and all(_is_wrapped(kind.__init__) for kind, *_ in _ORDERED)


def _with_argument(original: Callable[..., Any], argument: str, bad: bool, good: bool) -> Callable[..., Any]:
    signature = inspect.signature(original)

    def wrapper(*given: Any, **named: Any) -> None:
        call = signature.bind(*given, **named)
        if current().pins("tf-data-order") and call.arguments.get(argument) is bad:
            current().overridden.append(user_place() or "?")
            call.arguments[argument] = good
        original(*call.args, **call.kwargs)

    return _wrap(original, wrapper)
