"""Every patch of TensorFlow, in one place, each with its reason. Seen to work on TensorFlow 2.18 to 2.21.
When a patch point is missing the adapter says which, and the check cannot be `repeats`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.python.eager import context

from twinrun.adapters.tensorflow import loops
from twinrun.adapters.tensorflow.tensors import leaves
from twinrun.errors import TwinrunError

if TYPE_CHECKING:
    from twinrun.adapters.tensorflow.observer import Observer

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
            return observer.update(self, lambda: original(self, *args, **kwargs))

        return apply

    return wrap
