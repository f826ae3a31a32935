"""The variables of a Keras model that training changes, in the model's own order."""

from __future__ import annotations

from typing import Any

import keras


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
    found: dict[int, tuple[str, Any]] = {}
    for number, layer in enumerate(model._flatten_layers()):
        for name, value in sorted(vars(layer).items()):
            where = f"{layer.name}.{name}" if number else name
            for part, one in _parts(where, value):
                if isinstance(one, keras.optimizers.Optimizer):
                    found.setdefault(id(one), (part, one))
    return dict(found.values())


def _parts(name: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"{name}[{key!r}]", one) for key, one in value.items()]
    if isinstance(value, (list, tuple)):
        return [(f"{name}[{place}]", one) for place, one in enumerate(value)]
    return [(name, value)]


def metric_variables(model: Any) -> list[Any]:
    return list({id(one): one for metric in model.metrics for one in metric.variables}.values())
