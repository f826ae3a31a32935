"""TensorFlow's and Keras' part of the ledger: random ops, generators, shuffles, parallel maps and loader workers.
Each can be made steady at one call site, for an experiment. Every patch here is seen to work on TensorFlow 2.18 to 2.21."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops
from tensorflow.python.data.ops import options as options_lib
from tensorflow.python.eager import context
from tensorflow.python.framework import ops
from tensorflow.python.ops import gen_random_ops, gen_stateless_random_ops_v2, script_ops, stateful_random_ops

from twinrun.frameworks.tensorflow.tensors import as_array
from twinrun.sources.clock import AHEAD
from twinrun.twin.event_log import Book, autograph_origin, caller, drawer

_entropy = getattr(os.urandom, "__wrapped__", os.urandom)
_RANDOM_OPS = (
    "random_uniform", "random_uniform_int", "random_standard_normal", "truncated_normal", "random_shuffle",
    "multinomial", "random_gamma", "random_poisson", "random_poisson_v2", "parameterized_truncated_normal",
)  # fmt: skip
_STATELESS_OPS = (
    "stateless_random_uniform_v2", "stateless_random_normal_v2", "stateless_truncated_normal_v2",
    "stateless_random_uniform_int_v2", "stateless_random_uniform_full_int_v2",
)  # fmt: skip
_ORDER_OPTIONS = ("deterministic", "experimental_deterministic")
_FRESH = "Generator.from_non_deterministic_state"
_SEEDED_STAGES = ("shuffle", "rejection_resample")
_SEEDED_SOURCES = ("list_files", "random", "sample_from_datasets")
_PARALLEL_STAGES = ("map", "interleave", "batch", "padded_batch", "ragged_batch", "map_with_legacy_function")


def install(book: Book) -> None:
    autograph_origin[:] = [_autograph_origin]
    for name in _RANDOM_OPS:
        if hasattr(gen_random_ops, name):
            setattr(gen_random_ops, name, _random_op(book, name, getattr(gen_random_ops, name)))
    for name in _STATELESS_OPS:
        if hasattr(gen_stateless_random_ops_v2, name):
            setattr(
                gen_stateless_random_ops_v2,
                name,
                _stateless_op(book, name, getattr(gen_stateless_random_ops_v2, name)),
            )
    context.set_global_seed = _set_seed(book, context.set_global_seed)
    # tf.compat.v1.set_random_seed, where a graph is being built.
    ops.Graph.seed = property(ops.Graph.seed.fget, _set_graph_seed(book, ops.Graph.seed.fset))
    # Every draw of a tf.random.Generator, whoever asks for it.
    stateful_random_ops.Generator._prepare_key_counter = _generator_draw(
        book, stateful_random_ops.Generator._prepare_key_counter
    )
    # py_function, numpy_function and generators: the host's code inside a graph.
    script_ops._internal_py_func = _host_function(book, script_ops._internal_py_func)
    generator = stateful_random_ops.Generator
    generator.from_non_deterministic_state = classmethod(
        _fresh_generator(book, generator.from_non_deterministic_state)
    )
    dataset = dataset_ops.DatasetV2
    for name in _SEEDED_STAGES:
        setattr(dataset, name, _seeded_stage(book, name, getattr(dataset, name)))
    for name in _SEEDED_SOURCES:
        setattr(dataset, name, staticmethod(_seeded_stage(book, name, getattr(dataset, name), static=True)))
    for name in _PARALLEL_STAGES:
        if hasattr(dataset, name):
            setattr(dataset, name, _parallel_stage(book, name, getattr(dataset, name)))
    tf.timestamp = _timestamp(book, tf.timestamp)
    options_lib.Options.__setattr__ = _said_so(book, options_lib.Options.__setattr__)


def _random_op(book: Book, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def draw(*args: Any, **kwargs: Any) -> Any:
        who = drawer()
        unseeded = not kwargs.get("seed") and not kwargs.get("seed2")
        number = book.steady("tf-random", who)
        if number is not None:
            kwargs.update(seed=number, seed2=number ^ 0x5BD1)
        result = original(*args, **kwargs)
        array = as_array(result) if context.executing_eagerly() else None
        data = array.tobytes() if array is not None and array.nbytes < 1 << 20 else b""
        book.note("tf-random", who, f"tf.random ({name})", data, seeded="no" if unseeded else "yes")
        return result

    draw.__name__, draw.__doc__ = name, original.__doc__
    return draw


def _stateless_op(book: Book, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """No source of its own: what it gives follows from its key. Noted for programs of which nothing else is seen."""

    def draw(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if context.executing_eagerly() and book.watch.step == 0:
            array = as_array(result)
            book.note(
                "tf-stateless", caller(), f"tf.random ({name})", array.tobytes() if array is not None else b""
            )
        return result

    draw.__name__, draw.__doc__ = name, original.__doc__
    return draw


def _set_seed(book: Book, original: Callable[..., Any]) -> Callable[..., Any]:
    def set_global_seed(seed: Any) -> Any:
        who = caller()
        number = book.steady("seed:tensorflow", who)
        book.note("seed:tensorflow", who, "tf.random.set_seed", repr(seed).encode(), seeded=repr(seed)[:80])
        return original(seed if number is None else number)

    return set_global_seed


def _set_graph_seed(book: Book, original: Callable[..., Any]) -> Callable[..., Any]:
    def set_seed(graph: Any, seed: Any) -> None:
        if not graph.building_function:  # a tf.function's graph takes the global seed over by itself
            name = "tf.compat.v1.set_random_seed"
            book.note("seed:tensorflow", caller(), name, repr(seed).encode(), seeded=repr(seed)[:80])
        original(graph, seed)

    return set_seed


def _fresh_generator(book: Book, original: Callable[..., Any]) -> Callable[..., Any]:
    def from_non_deterministic_state(cls: Any, alg: Any = None) -> Any:
        who = caller()
        number = book.steady("generator", who)
        if number is not None:
            made = cls.from_seed(number, alg=alg)
        else:
            made = original(alg=alg) if alg is not None else original()
        # The global generator is made by the first who asks for it.
        what = "get_global_generator" if who is not None and who.via == "tensorflow" else _FRESH
        book.note("generator", who, f"tf.random.{what}", made.state.numpy().tobytes())
        return made

    return from_non_deterministic_state


def _generator_draw(book: Book, original: Callable[..., Any]) -> Callable[..., Any]:
    def _prepare_key_counter(self: Any, shape: Any) -> Any:
        shared = self is stateful_random_ops.global_generator
        book.note("tf-generator", caller(), "tf.random.Generator", seeded="global" if shared else None)
        return original(self, shape)

    return _prepare_key_counter


def _host_function(book: Book, original: Callable[..., Any]) -> Callable[..., Any]:
    def _internal_py_func(func: Any, *args: Any, **kwargs: Any) -> Any:
        module = str(getattr(func, "__module__", ""))
        if not module.startswith("twinrun."):
            book.note("host-function", caller(), getattr(func, "__name__", "a host function"))
        return original(func, *args, **kwargs)

    return _internal_py_func


def _seeded_stage(
    book: Book, name: str, original: Callable[..., Any], static: bool = False
) -> Callable[..., Any]:
    position = {
        "shuffle": 2,
        "list_files": 2,
        "random": 0,
        "sample_from_datasets": 2,
        "rejection_resample": 3,
    }[name]

    def stage(*args: Any, **kwargs: Any) -> Any:
        who = caller()
        given = args[position] if len(args) > position else kwargs.get("seed")
        ordered = name == "list_files" and (args[1] if len(args) > 1 else kwargs.get("shuffle")) is False
        seeded = given is not None or context.global_seed() is not None or ordered
        number = book.steady("shuffle", who)
        if number is not None and not seeded:
            if len(args) > position:
                args = (*args[:position], number, *args[position + 1 :])
            else:
                kwargs["seed"] = number
        book.note("shuffle", who, f"Dataset.{name}", b"", seeded="yes" if seeded else "no")
        return original(*args, **kwargs)

    stage.__name__, stage.__doc__ = name, original.__doc__
    return stage


def _parallel_stage(book: Book, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def stage(self: Any, *args: Any, **kwargs: Any) -> Any:
        who = caller()
        if kwargs.get("num_parallel_calls") is None and not (
            name == "map" and len(args) > 1 and args[1] is not None
        ):
            return original(self, *args, **kwargs)
        if book.steady("parallel", who) is not None:
            kwargs.pop("num_parallel_calls", None)
            kwargs.pop("deterministic", None)
            args = args[:1] if name == "map" else args
        elif book.steady("order", who) is not None:
            kwargs["deterministic"] = True
        function = args[0] if args and callable(args[0]) else kwargs.get("map_func")
        if book.watch.spec.experiment.get("jostle") and args and callable(args[0]):
            args = (_with_naps(args[0]), *args[1:])
        label = getattr(function, "__name__", "")
        before = book.order
        result = original(self, *args, **kwargs)
        inside = book.since(before, ("tf-random", "tf-generator", "keras-draw", "host-function"))
        book.note(
            "parallel",
            who,
            f"Dataset.{name}({label})",
            b"",
            seeded=str(kwargs.get("deterministic")),
            inside=inside,
        )
        return result

    stage.__name__, stage.__doc__ = name, original.__doc__
    return stage


def _with_naps(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, each call of which takes a moment longer or shorter: in what order calls end must not matter."""

    def napping(*element: Any) -> Any:
        nap = tf.numpy_function(_nap, [], tf.int64)
        with tf.control_dependencies([nap]):
            element = tf.nest.map_structure(_after, element)
            return function(*element)

    return napping


def _nap() -> Any:
    time.sleep(int.from_bytes(_entropy(1), "little") * 1e-5)
    return np.int64(0)


def _after(leaf: Any) -> Any:
    return (
        tf.identity(leaf)
        if isinstance(leaf, tf.Tensor) and leaf.dtype not in (tf.variant, tf.resource)
        else leaf
    )


def _said_so(book: Book, original: Callable[..., Any]) -> Callable[..., Any]:
    """`options.deterministic = False`: the line that gives up the order is this one, wherever the options are used."""

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        who = caller() if name in _ORDER_OPTIONS and value is False else None
        if who is not None and who.via != "tensorflow":  # which merges options, and says what was said before
            book.note("parallel", who, f"Options.{name} = False", b"", seeded="False")
            if book.steady("order", who) is not None or book.steady("parallel", who) is not None:
                value = True
        original(self, name, value)

    return __setattr__


def _timestamp(book: Book, original: Callable[..., Any]) -> Callable[..., Any]:
    """The clock, read by an op: in a graph, at every run of it."""

    def timestamp(name: Any = None) -> Any:
        who = caller()
        number = book.steady("clock", who)
        now = original(name) if number is None else tf.constant(float(number), tf.float64)
        if book.watch.spec.varied.get("clock") == "moved" and number is None:
            now += AHEAD.total_seconds()
        array = as_array(now)
        book.note("clock", who, "tf.timestamp", array.tobytes() if array is not None else _entropy(8))
        return now

    timestamp.__doc__ = original.__doc__
    return timestamp


def _autograph_origin(frame: FrameType) -> tuple[str, int] | None:
    """The user's own line for a line of the copy that autograph made of their function."""
    from tensorflow.python.util import tf_stack

    for entry in reversed(tf_stack.extract_stack()):
        if "__autograph_generated_file" not in entry.filename:
            from twinrun.twin.callers import is_users

            if is_users(entry.filename):
                return entry.filename, entry.lineno
    return None
