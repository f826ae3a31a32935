"""Every patch of TensorFlow, in one place, each with its reason. Seen to work on TensorFlow 2.18 to 2.21.
When a patch point is missing the adapter says which, and the check cannot be `repeats`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.python.eager import context

from twinrun.errors import TwinrunError
from twinrun.frameworks.tensorflow import loops
from twinrun.frameworks.tensorflow.sessions import Sessions
from twinrun.frameworks.tensorflow.tensors import leaves

if TYPE_CHECKING:
    from twinrun.frameworks.tensorflow.observer import Observer

_slots = count()  # places in graphs where elements are drawn


class MissingPatchPoint(TwinrunError):
    """This version of the framework does not have what the adapter needs to see it."""


def install(observer: Observer) -> None:
    # Every call of a tf.function: the outermost one is where a compiled step is seen from outside.
    patch(
        "tensorflow.python.eager.polymorphic_function.polymorphic_function:Function.__call__",
        _function(observer),
    )
    # Every variable at birth: weights, optimizer slots, generators, whoever makes them.
    patch("tensorflow.python.ops.resource_variable_ops:BaseResourceVariable.__init__", _variable(observer))
    # Gradients: eagerly the tape's target is the loss; without an optimizer they announce an update by hand.
    patch("tensorflow.python.eager.backprop:GradientTape.gradient", _gradient(observer))
    # Elements drawn from a dataset, eagerly or inside a training function.
    patch("tensorflow.python.data.ops.iterator_ops:OwnedIterator._next_internal", _next(observer))
    # Loops over a dataset inside a tf.function draw optional elements and unwrap them in the loop's body.
    patch("tensorflow.python.data.ops.optional_ops:_OptionalImpl.get_value", _value)
    # Loops over a whole dataset inside a tf.function become a scan of the dataset.
    patch("tensorflow.python.data.ops.dataset_autograph:_general_purpose_scan", _loop_body)
    # TensorFlow's own optimizers of the first generation, which some custom loops still use.
    patch("tensorflow.python.training.optimizer:Optimizer.apply_gradients", _apply(observer))
    _install_sessions(observer)


def _install_sessions(observer: Observer) -> None:
    sessions, session = Sessions(observer), "tensorflow.python.client.session:BaseSession"
    # A graph's every run, where fetches and feeds are single tensors already.
    patch(f"{session}._call_tf_sessionrun", _session_run(sessions))
    patch(f"{session}._call_tf_sessionprun", _partial_run(sessions))
    # Runs that were made ready beforehand: tf_keras without eager execution.
    patch(f"{session}._Callable.__init__", _with_options)
    patch(f"{session}._Callable.__call__", _callable(sessions))
    # The variables of a session end with it: the last look at them.
    patch(f"{session}.close", _session_close(sessions))


def patch(place: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace `module:Class.method` by `wrap(original)`."""
    module, _, path = place.partition(":")
    owner: Any = import_module(module)
    *parents, name = path.split(".")
    try:
        for parent in parents:
            owner = getattr(owner, parent)
        original = owner.__dict__[name] if isinstance(owner, type) else getattr(owner, name)
    except (AttributeError, KeyError):
        raise MissingPatchPoint(
            f"this version of the framework has no {place}, which the adapter needs to see it",
            hint="use a release that Twinrun was seen to work on (docs/reference/frameworks.md)",
        ) from None
    wrapped = wrap(original)
    for attribute in ("__name__", "__qualname__", "__doc__", "__module__", "__signature__"):
        if hasattr(original, attribute):
            setattr(wrapped, attribute, getattr(original, attribute))
    wrapped.__wrapped__ = original  # type: ignore[attr-defined]
    setattr(owner, name, wrapped)


def _function(observer: Observer) -> Callable[..., Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            if not observer.watch.alive:
                return original(self, *args, **kwargs)
            return observer.call(self, args, kwargs, original)

        return __call__

    return wrap


def _variable(observer: Observer) -> Callable[..., Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            original(self, *args, **kwargs)
            if observer.watch.alive:
                observer.variables.note(self)

        return __init__

    return wrap


def _gradient(observer: Observer) -> Callable[..., Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def gradient(self: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            if observer.watch.alive:
                try:
                    observer.gradient(target, sources)
                except Exception as problem:
                    observer.watch.trouble(problem)
            return original(self, target, sources, *args, **kwargs)

        return gradient

    return wrap


def _next(observer: Observer) -> Callable[..., Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def _next_internal(self: Any) -> Any:
            element = original(self)
            if observer.watch.alive:
                try:
                    _drew(observer, element, self)
                except Exception as problem:
                    observer.watch.trouble(problem)
            return element

        return _next_internal

    return wrap


def _drew(observer: Observer, element: Any, iterator: Any) -> None:
    if context.executing_eagerly():
        observer.drew(element, iterator)
    elif not loops.drew(element):
        named = [
            (name, leaf) for name, leaf in leaves(element) if leaf.dtype not in (tf.variant, tf.resource)
        ]
        names = tuple(name for name, _ in named)
        slot = next(_slots)

        def seen(*arrays: Any) -> None:
            try:
                observer.drew_in_graph(slot, names, list(arrays))
            except Exception as problem:
                observer.watch.trouble(problem)

        tf.numpy_function(seen, [leaf for _, leaf in named], [], stateful=True)


def _value(original: Callable[..., Any]) -> Callable[..., Any]:
    def get_value(self: Any, name: Any = None) -> Any:
        element = original(self, name=name)
        if not context.executing_eagerly():
            loops.drew(element)
        return element

    return get_value


def _loop_body(original: Callable[..., Any]) -> Callable[..., Any]:
    def scan(dataset: Any, state: Any, function: Any) -> Any:
        def body(loop_state: Any, element: Any) -> Any:
            loops.drew(element)
            return function(loop_state, element)

        # What it wraps has been converted by autograph already.
        return original(dataset, state, tf.autograph.experimental.do_not_convert(body))

    return scan


def _apply(observer: Observer) -> Callable[..., Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not observer.watch.alive:
                return original(self, *args, **kwargs)
            args, kwargs, variables = _updated(self, original.__name__, args, kwargs)
            return observer.update(self, lambda: original(self, *args, **kwargs), variables)

        return apply

    return wrap


def _updated(optimizer: Any, name: str, args: Any, kwargs: Any) -> tuple[Any, Any, list[Any]]:
    """The arguments of an update, and the variables that it is about."""
    if name == "apply":  # of Keras 3: gradients, and variables where it does not know them yet
        given = args[1] if len(args) > 1 else kwargs.get("trainable_variables")
        found = given if given is not None else getattr(optimizer, "_trainable_variables", ())
        return args, kwargs, list(found)
    # Pairs come as an iterator, most often, which can be read only once.
    pairs = list(args[0] if args else kwargs["grads_and_vars"])
    if args:
        return (pairs, *args[1:]), kwargs, [pair[1] for pair in pairs]
    return args, {**kwargs, "grads_and_vars": pairs}, [pair[1] for pair in pairs]


def _session_run(sessions: Sessions) -> Callable[..., Any]:
    """`Session.run` and `Session.make_callable`, with everything composite taken apart already."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        sessions.read = original

        def run(
            self: Any, options: Any, feed_dict: Any, fetch_list: Any, target_list: Any, metadata: Any
        ) -> Any:
            if not sessions.watch.alive:
                return original(self, options, feed_dict, fetch_list, target_list, metadata)
            graph = self.graph
            fetched = [graph._get_tensor_by_tf_output(one) for one in fetch_list]
            asked = fetched + [graph._get_operation_by_tf_operation(one) for one in target_list]
            feeds = [(graph._get_tensor_by_tf_output(one), value) for one, value in feed_dict.items()]

            def call(extra: list[Any]) -> Any:
                outputs = [*fetch_list, *(tensor._as_tf_output() for tensor in extra)]
                return original(self, options, feed_dict, outputs, target_list, metadata)

            return sessions.run(self, feeds, asked, True, call)

        return run

    return wrap


def _partial_run(sessions: Sessions) -> Callable[..., Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(self: Any, handle: Any, feed_dict: Any, fetch_list: Any) -> Any:
            if not sessions.watch.alive:
                return original(self, handle, feed_dict, fetch_list)
            asked = [self.graph._get_tensor_by_tf_output(one) for one in fetch_list]
            feeds = [(self.graph._get_tensor_by_tf_output(one), value) for one, value in feed_dict.items()]
            return sessions.run(
                self, feeds, asked, False, lambda _: original(self, handle, feed_dict, fetch_list)
            )

        return run

    return wrap


def _with_options(original: Callable[..., Any]) -> Callable[..., Any]:
    """What a callable will run is told once, when it is made."""

    def __init__(self: Any, session: Any, callable_options: Any) -> None:  # noqa: N807
        original(self, session, callable_options)
        self._twinrun_options = callable_options

    return __init__


def _callable(sessions: Sessions) -> Callable[..., Any]:
    """tf_keras without eager execution trains through these."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            if not sessions.watch.alive:
                return original(self, *args, **kwargs)
            graph, options = self._session.graph, self._twinrun_options
            asked = [graph.as_graph_element(name) for name in (*options.fetch, *options.target)]
            feeds = [
                (graph.as_graph_element(name), value) for name, value in zip(options.feed, args, strict=False)
            ]
            return sessions.run(self._session, feeds, asked, False, lambda _: original(self, *args, **kwargs))

        return __call__

    return wrap


def _session_close(sessions: Sessions) -> Callable[..., Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def close(self: Any) -> Any:
            if sessions.watch.alive and not self._closed and sys._getframe(1).f_code.co_name != "__del__":
                try:
                    sessions.closing(self)
                except Exception as problem:
                    sessions.watch.trouble(problem)
            return original(self)

        return close

    return wrap
