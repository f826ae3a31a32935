"""A trained model in this process as something to keep and compare: its tensors at the end, and its metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from twinrun.baselines.kept_run import KeptRun, from_frames, samples_of
from twinrun.comparison.contract import parse_contract
from twinrun.environment.capture import capture
from twinrun.errors import UsageError
from twinrun.recording.digest import digest_array
from twinrun.recording.frame import Frame, Layout, pack


def observe_model(
    model: Any, metrics: Mapping[str, float], contract: str, program: str, base: Path | None = None
) -> KeptRun:
    """The model as a run of one step, the last. No framework is imported here: the model brings its own."""
    tensors = tensors_of(model)
    arrays = [*tensors.values(), *(np.array(value, np.float64) for value in metrics.values())]
    phases = ("final",) * len(tensors) + ("metric",) * len(metrics)
    values = tuple(enumerate(map(float, metrics.values()), start=len(tensors)))
    layout = Layout(phases, (*tensors, *metrics))
    frame = Frame(0, 0, layout, pack([digest_array(array) for array in arrays]), values)
    numeric = parse_contract(contract).numeric
    samples = samples_of({("final", name): array for name, array in tensors.items()}) if numeric else ()
    return from_frames([frame], program=program, environment=capture(base=base), samples=samples)


def tensors_of(model: Any) -> dict[str, np.ndarray]:
    """A Keras model's weights by path, arrays by name, or arrays by number."""
    if isinstance(model, Mapping):
        found = {str(name): _array(value) for name, value in model.items()}
    elif hasattr(model, "weights"):
        found = {}
        for number, weight in enumerate(model.weights):
            name = str(getattr(weight, "path", None) or getattr(weight, "name", number))
            found[name if name not in found else f"{name}[{number}]"] = _array(weight)
    elif isinstance(model, Sequence) and not isinstance(model, (str, bytes)):
        found = {str(number): _array(value) for number, value in enumerate(model)}
    else:
        found = {"value": _array(model)}
    if not found:
        raise UsageError(
            "there is nothing to compare: the model has no weights", hint="build or train it first"
        )
    return found


def _array(value: Any) -> np.ndarray:
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if array.dtype == object:
        raise UsageError(
            f"a {type(value).__name__} is not a tensor", hint="give a Keras model or arrays by name"
        )
    return array
