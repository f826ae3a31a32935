"""The patches of Keras 3, and the wrappers that tf_keras shares. Loaded without either."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from twinrun.frameworks.tensorflow.patches import Function, apply_gradients, observer_of
from twinrun.protocol.point import Need, Point, Wrap

if TYPE_CHECKING:
    from twinrun.twin.session import Session


def _train_function(session: Session, original: Function) -> Function:
    observer = observer_of(session)

    def make_train_function(self: Any, force: bool = False) -> Any:
        result = original(self, force)
        inner = self.train_function
        if inner is None or getattr(inner, "_twinrun", False):
            return result

        def train_function(*args: Any, **kwargs: Any) -> Any:
            if not observer.recorder.alive:
                return inner(*args, **kwargs)
            return observer.train_call(lambda: inner(*args, **kwargs))

        train_function._twinrun = True  # type: ignore[attr-defined]
        self.train_function = train_function
        return result if result is not inner else train_function

    return make_train_function


def _apply(session: Session, original: Function) -> Function:
    """`apply(gradients, variables)`, where the variables may be left out once the optimizer knows them."""
    observer = observer_of(session)

    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not observer.recorder.alive:
            return original(self, *args, **kwargs)
        given = args[1] if len(args) > 1 else kwargs.get("trainable_variables")
        variables = list(given if given is not None else getattr(self, "_trainable_variables", ()))
        return observer.update(self, lambda: original(self, *args, **kwargs), variables)

    return apply


def _layer_call(session: Session, original: Function) -> Function:
    observer = observer_of(session)
    here = threading.local()

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        if getattr(here, "inside", False) or not args:
            return original(self, *args, **kwargs)
        here.inside = True
        try:
            observer.on_input(args[0])
            return original(self, *args, **kwargs)
        finally:
            here.inside = False

    return __call__


def _variable_path(session: Session, original: Function) -> Function:
    """Around what gives a Keras variable its tf.Variable."""
    observer = observer_of(session)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        if observer.recorder.alive and self._value is not None:
            observer.variables.set_path(self._value, str(getattr(self, "path", None) or self.name))
        return result

    return method


def _metric_variable(session: Session, original: Function) -> Function:
    variables = observer_of(session).variables

    def add(self: Any, *args: Any, **kwargs: Any) -> Any:
        before, variables.ignore = variables.ignore, True
        try:
            return original(self, *args, **kwargs)
        finally:
            variables.ignore = before

    return add


def _batch_end(session: Session, original: Function) -> Function:
    steps = observer_of(session).steps
    return _after_callbacks(session, original, lambda _: steps.close())


def _epoch_end(session: Session, original: Function) -> Function:
    return _after_callbacks(session, original, observer_of(session).on_epoch_end)


def _after_callbacks(session: Session, original: Function, then: Callable[[Any], None]) -> Function:
    """Around a method of CallbackList: `then(logs)` when the callbacks have run."""
    recorder = observer_of(session).recorder

    def method(self: Any, number: int, logs: Any = None) -> Any:
        result = original(self, number, logs)
        if recorder.alive:
            try:
                then(logs)
            except Exception as problem:
                recorder.trouble(problem)
        return result

    return method


# What is patched, by what it is for: the wrapper, the reason, and what the point is needed for.
_PATCHES: dict[str, tuple[Wrap, str, Need]] = {
    "train function": (_train_function, "it returns the loss and the metrics of a step of fit", "verdict"),
    "apply": (_apply, "every update of weights goes through it", "verdict"),
    "apply_gradients": (apply_gradients, "every update of weights goes through it", "verdict"),
    "legacy apply_gradients": (apply_gradients, "legacy optimizers update weights here", "verdict"),
    "epoch end": (_epoch_end, "validation results are given to callbacks alone", "verdict"),
    "batch end": (_batch_end, "callbacks may change weights: a step ends after them", "cause"),
    "layer call": (_layer_call, "eager loops hand a NumPy batch to their outermost layer", "cause"),
    "variable": (_variable_path, "a variable knows its path, such as dense_1/kernel", "cause"),
    "deferred variable": (
        _variable_path,
        "a variable made inside a scan gets its tf.Variable later",
        "cause",
    ),
    "metric variable": (_metric_variable, "variables of metrics are no weights", "cause"),
}


def training_points(
    places: Mapping[str, str], after: str, tested_on: str, entrances: Mapping[str, str] | None = None
) -> tuple[Point, ...]:
    """Points by what they are for (see `_PATCHES`)."""
    found = []
    for purpose, place in places.items():
        wrap, reason, needed_for = _PATCHES[purpose]
        entrance = (entrances or {}).get(purpose, "")
        found.append(Point(place, wrap, reason, (needed_for,), tested_on, after=after, entrance=entrance))
    return tuple(found)


POINTS = training_points(
    {
        "train function": "keras.src.backend.tensorflow.trainer:TensorFlowTrainer.make_train_function",
        "apply": "keras.src.optimizers.base_optimizer:BaseOptimizer.apply",
        "variable": "keras.src.backend.common.variables:Variable.__init__",
        "deferred variable": "keras.src.backend.tensorflow.core:Variable._deferred_initialize",
        "layer call": "keras.src.layers.layer:Layer.__call__",
        "metric variable": "keras.src.metrics.metric:Metric.add_variable",
        "batch end": "keras.src.callbacks.callback_list:CallbackList.on_train_batch_end",
        "epoch end": "keras.src.callbacks.callback_list:CallbackList.on_epoch_end",
    },
    after="keras",
    tested_on="Keras 3.8 to 3.15",
)
