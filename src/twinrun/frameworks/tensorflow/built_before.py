"""What TensorFlow already holds when a seed is set: variables with values, shuffled datasets, generators."""

from __future__ import annotations

import gc
from typing import Any

import tensorflow as tf

_RANDOM_DATASETS = ("Shuffle", "Random", "Sample")


def made_before() -> list[str]:
    """Names of the variables, datasets and generators that are there. A variable that holds one and the same
    value throughout (a counter, zeros) was not drawn and is left out."""
    found = []
    for thing in gc.get_objects():
        kind = type(thing)
        if issubclass(kind, tf.random.Generator):
            found.append("a tf.random.Generator")
        elif issubclass(kind, tf.data.Dataset) and any(part in kind.__name__ for part in _RANDOM_DATASETS):
            found.append(f"a dataset ({kind.__name__.strip('_')})")
        elif issubclass(kind, tf.Variable) and _may_have_been_drawn(thing):
            found.append(f"variable {thing.name}")
    return sorted(found)


def _may_have_been_drawn(variable: Any) -> bool:
    try:
        if not (variable.dtype.is_floating and tf.executing_eagerly()):
            return False
        some = variable.numpy().ravel()[:1000]
        return bool(some.size > 1 and (some != some[0]).any())
    except Exception:
        return False
