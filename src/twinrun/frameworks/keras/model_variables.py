"""The variables of a Keras model that training changes, in the model's own order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras
import numpy as np
import tensorflow as tf


def model_variables(model: Any) -> list[Any]:
    """Weights, states of seed generators, and what the optimizers have; without metrics."""
    metrics = {id(variable) for variable in metric_variables(model)}
    own = [*model.variables]
    for optimizer in model_optimizers(model).values():
        own += optimizer.variables
    return [each for each in {id(one): one for one in own}.values() if id(each) not in metrics]


def model_optimizers(model: Any) -> dict[str, Any]:
    """Every optimizer that the model or a layer of it has as an attribute, by its name there. Keras itself knows only the one
    of `compile`: a GAN's `d_optimizer` is none of its variables."""
    return _attributes(model, keras.optimizers.Optimizer)


def model_generators(model: Any) -> dict[str, Any]:
    """Every generator of TensorFlow's or NumPy's that the model or a layer of it has as an attribute, by its name there. A layer's
    own seed generator is none: its state is a variable."""
    return _attributes(model, (tf.random.Generator, np.random.Generator))


def _attributes(model: Any, kind: type | tuple[type, ...]) -> dict[str, Any]:
    """What is of this kind among the attributes of a model and its layers."""
    found: dict[int, tuple[str, Any]] = {}
    for number, layer in enumerate(model._flatten_layers()):
        for name, value in sorted(vars(layer).items()):
            for part, one in _parts(value):
                if isinstance(one, kind):
                    where = f"{layer.name}.{name}" if number else name
                    found.setdefault(id(one), (where if part is None else f"{where}[{part!r}]", one))
    return dict(found.values())


def _parts(value: Any) -> Iterable[tuple[Any, Any]]:
    """An attribute itself, or what is in it."""
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, (list, tuple)) else [(None, value)]


def metric_variables(model: Any) -> list[Any]:
    return list({id(one): one for metric in model.metrics for one in metric.variables}.values())
