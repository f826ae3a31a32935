"""The patches of Keras 3, and what tf_keras shares with them. Loaded without either."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from twinrun.frameworks.layers import layer_made, model_compiled
from twinrun.frameworks.packages import KERAS, Package
from twinrun.frameworks.tensorflow.points import Function, after, around, observer_of
from twinrun.protocol.point import Need, Point, Wrap

if TYPE_CHECKING:
    from twinrun.frameworks.tensorflow.observer import Observer
    from twinrun.twin.session import Session


def _train_function(observer: Observer) -> Function:
    def make_train_function(original: Function, model: Any, *args: Any, **kwargs: Any) -> Any:
        observer.fit_batches = observer.fit_batches or 0
        result = original(model, *args, **kwargs)
        inner = model.train_function
        if inner is None or getattr(inner, "_twinrun", False):
            return result

        def train_function(*args: Any, **kwargs: Any) -> Any:
            if not observer.recorder.alive:
                return inner(*args, **kwargs)
            return observer.train_call(lambda: inner(*args, **kwargs))

        train_function._twinrun = True  # type: ignore[attr-defined]
        model.train_function = train_function
        return result if result is not inner else train_function

    return make_train_function


_NO_FIT = (
    "fit of Keras 3 fails in Keras itself under MultiWorkerMirroredStrategy; what works: fit of tf_keras "
    "(import tf_keras as keras), or a loop of your own with strategy.run, with models and optimizers of Keras 3"
)


def _fit(observer: Observer) -> Function:
    def fit(original: Function, model: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(model.distribute_strategy.extended, "_num_workers", 1) > 1:
            observer.recorder.note(_NO_FIT)
        return original(model, *args, **kwargs)

    return fit


def _apply(observer: Observer) -> Function:
    """The variables may be left out once the optimizer knows them."""

    def apply(original: Function, optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
        given = trainable_variables
        variables = list(given if given is not None else getattr(optimizer, "_trainable_variables", ()))
        grads = list(grads)
        pairs = list(zip(grads, variables, strict=False))  # what does not fit is for Keras to refuse
        return observer.update(optimizer, pairs, lambda: original(optimizer, grads, trainable_variables))

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


def _variable_path(observer: Observer) -> Function:
    def named(result: Any, variable: Any, *args: Any, **kwargs: Any) -> None:
        """A Keras variable has got its tf.Variable."""
        if variable._value is not None:
            observer.variables.set_path(
                variable._value, str(getattr(variable, "path", None) or variable.name)
            )

    return named


def _metric_variable(observer: Observer) -> Function:
    variables = observer.variables

    def add(original: Function, *args: Any, **kwargs: Any) -> Any:
        before, variables.ignore = variables.ignore, True
        try:
            return original(*args, **kwargs)
        finally:
            variables.ignore = before

    return add


def _evaluation(name: str) -> Wrap:
    def handler(observer: Observer) -> Function:
        def evaluate(original: Function, model: Any, *args: Any, **kwargs: Any) -> Any:
            # What `fit` validates with so is among the metrics of the epoch.
            reported = kwargs.get("_use_cached_eval_dataset")
            called = "" if reported else name
            return observer.evaluations.call(called, model, lambda: original(model, *args, **kwargs))

        return evaluate

    return around(handler)


_UPDATES = around(lambda it: it.apply_gradients)
# What is patched, by what it is for: the wrapper, the reason, and what the point is needed for.
_PATCHES: dict[str, tuple[Wrap, str, Need]] = {
    "train function": (
        around(_train_function),
        "it returns the loss and metrics of a step of fit",
        "verdict",
    ),
    "fit": (around(_fit), "it does not work with several workers", "cause"),
    "apply": (around(_apply), "every update of weights goes through it", "verdict"),
    "apply_gradients": (_UPDATES, "every update of weights goes through it", "verdict"),
    "legacy apply_gradients": (_UPDATES, "legacy optimizers update weights here", "verdict"),
    "epoch end": (
        after(lambda it: it.on_epoch_end),
        "only callbacks are given validation results",
        "verdict",
    ),
    "batch end": (
        after(lambda it: it.on_batch_end),
        "a step ends after callbacks, which may update",
        "cause",
    ),
    "layer": (
        layer_made,
        "the line that made a layer is to blame for what it draws and computes when a model calls it",
        "cause",
    ),
    "compile": (model_compiled, "it decides whether XLA compiles the steps of a model", "cause"),
    "layer call": (_layer_call, "eager loops hand a NumPy batch to their outermost layer", "cause"),
    "variable": (after(_variable_path), "a variable knows its path, such as dense_1/kernel", "cause"),
    "deferred variable": (after(_variable_path), "in a scan a variable gets its tf.Variable later", "cause"),
    "metric variable": (around(_metric_variable), "variables of metrics are no weights", "cause"),
}
_EVALUATIONS = ("evaluate", "predict", "test_on_batch", "predict_on_batch")


def training_points(
    package: Package, places: Mapping[str, str], entrances: Mapping[str, str] = MappingProxyType({})
) -> tuple[Point, ...]:
    """Points by what they are for (see `_PATCHES`)."""
    return tuple(
        package.point(place, *_PATCHES[purpose], entrance=entrances.get(purpose, ""))
        for purpose, place in places.items()
    )


def evaluation_points(package: Package, trainer: str, entrance: str = "") -> tuple[Point, ...]:
    """`trainer`: the class whose methods they are. With `entrance`, only programs that call this need them."""
    reason = "what it returns is compared"
    return tuple(
        package.point(f"{trainer}.{name}", _evaluation(name), reason, "verdict", entrance=entrance)
        for name in _EVALUATIONS
    )


POINTS = training_points(
    KERAS,
    {
        "train function": "backend.tensorflow.trainer:TensorFlowTrainer.make_train_function",
        "fit": "backend.tensorflow.trainer:TensorFlowTrainer.fit",
        "apply": "optimizers.base_optimizer:BaseOptimizer.apply",
        "variable": "backend.common.variables:Variable.__init__",
        "deferred variable": "backend.tensorflow.core:Variable._deferred_initialize",
        "layer": "ops.operation:Operation.__init__",
        "layer call": "layers.layer:Layer.__call__",
        "compile": "trainers.trainer:Trainer.compile",
        "metric variable": "metrics.metric:Metric.add_variable",
        "batch end": "callbacks.callback_list:CallbackList.on_train_batch_end",
        "epoch end": "callbacks.callback_list:CallbackList.on_epoch_end",
    },
) + evaluation_points(KERAS, "backend.tensorflow.trainer:TensorFlowTrainer")
