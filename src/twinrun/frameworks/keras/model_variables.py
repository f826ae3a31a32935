"""The variables of a Keras model that training changes, in the model's own order."""

from __future__ import annotations

from typing import Any


def model_variables(model: Any) -> list[Any]:
    """Weights, states of seed generators, and what the optimizer has; without metrics."""
    metrics = {id(variable) for variable in metric_variables(model)}
    own = [*model.variables, *(model.optimizer.variables if model.optimizer is not None else ())]
    return [each for each in {id(one): one for one in own}.values() if id(each) not in metrics]


def metric_variables(model: Any, *, built: bool = False) -> list[Any]:
    """`built`: those that are made with the first batch alone."""
    metrics = [one for one in model.metrics if not built or one is not getattr(model, "_loss_tracker", None)]
    return list({id(one): one for metric in metrics for one in metric.variables}.values())
