"""Every patch of Keras 3, in one place, each with its reason. Seen to work on Keras 3.6 to 3.15."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from twinrun.frameworks.tensorflow.observer import Observer
from twinrun.frameworks.tensorflow.patches import _apply, patch


def install(observer: Observer) -> None:
    # The train function returns the logs of the step: the one place that knows loss and metrics.
    patch(
        "keras.src.backend.tensorflow.trainer:TensorFlowTrainer.make_train_function",
        wrap_train_function(observer),
    )
    # Every update of weights goes through apply.
    patch("keras.src.optimizers.base_optimizer:BaseOptimizer.apply", _apply(observer))
    # Keras variables know their path (`dense_1/kernel`); the tf.Variable inside does not.
    patch("keras.src.backend.common.variables:Variable.__init__", _name(observer))
    # One that was made where no value may be made, inside a scan say, gets its tf.Variable later.
    patch("keras.src.backend.tensorflow.core:Variable._deferred_initialize", _name(observer))
    # Eager loops hand their batch to a layer: what goes into the outermost one under a tape was fed.
    patch("keras.src.layers.layer:Layer.__call__", wrap_layer_call(observer))
    # The variables of metrics are no weights: their results are compared instead.
    patch("keras.src.metrics.metric:Metric.add_variable", wrap_metric_variable(observer))
    # The end of a step is when the program's callbacks have had their turn: they may change weights.
    patch("keras.src.callbacks.callback_list:CallbackList.on_train_batch_end", wrap_batch_end(observer))
    # The same at the end of an epoch. Validation results reach nobody else.
    patch("keras.src.callbacks.callback_list:CallbackList.on_epoch_end", wrap_epoch_end(observer))


def wrap_train_function(observer: Observer) -> Callable[..., Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def make_train_function(self: Any, force: bool = False) -> Any:
            result = original(self, force)
            inner = self.train_function
            if inner is None or getattr(inner, "_twinrun", False):
                return result

            def train_function(*args: Any, **kwargs: Any) -> Any:
                if not observer.watch.alive:
                    return inner(*args, **kwargs)
                return observer.train_call(lambda: inner(*args, **kwargs))

            train_function._twinrun = True  # type: ignore[attr-defined]
            self.train_function = train_function
            return result if result is not inner else train_function

        return make_train_function

    return wrap


def wrap_layer_call(observer: Observer) -> Callable[..., Any]:
    depth = threading.local()

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            if getattr(depth, "inside", False) or not args:
                return original(self, *args, **kwargs)
            depth.inside = True
            try:
                observer.fed(args[0])
                return original(self, *args, **kwargs)
            finally:
                depth.inside = False

        return __call__

    return wrap


def _name(observer: Observer) -> Callable[..., Any]:
    """Around what gives a Keras variable its tf.Variable."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self, *args, **kwargs)
            if observer.watch.alive and self._value is not None:
                observer.variables.called(self._value, str(getattr(self, "path", None) or self.name))
            return result

        return method

    return wrap


def wrap_metric_variable(observer: Observer) -> Callable[..., Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def add(self: Any, *args: Any, **kwargs: Any) -> Any:
            before, observer.variables.ignore = observer.variables.ignore, True
            try:
                return original(self, *args, **kwargs)
            finally:
                observer.variables.ignore = before

        return add

    return wrap


def wrap_batch_end(observer: Observer) -> Callable[..., Any]:
    return _after(observer, lambda _: observer.steps.close())


def wrap_epoch_end(observer: Observer) -> Callable[..., Any]:
    return _after(observer, observer.epoch_ended)


def _after(observer: Observer, then: Callable[[Any], None]) -> Callable[..., Any]:
    """Around a method of CallbackList: when the callbacks have run, `then(logs)`."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: Any, number: int, logs: Any = None) -> Any:
            result = original(self, number, logs)
            if observer.watch.alive:
                try:
                    then(logs)
                except Exception as problem:
                    observer.watch.trouble(problem)
            return result

        return method

    return wrap
