"""The random states of a process that no checkpoint of Keras or TensorFlow holds, as plain values: Python's, NumPy's, what
TensorFlow derives the seeds of eager ops from, its global generator, and Keras' global seed generator."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from tensorflow.python.eager import context
from tensorflow.python.ops import stateful_random_ops

_KERAS = "global_seed_generator"


def random_states() -> dict[str, Any]:
    """The random states as they are now, in values that JSON can hold."""
    name, keys, *rest = np.random.get_state()
    eager = context.context()
    eager_rng = getattr(eager, "_rng", None)
    generator = stateful_random_ops.global_generator
    seeds = _keras_generator()
    return {
        "python": random.getstate(),
        "numpy": [name, np.asarray(keys).tolist(), *rest],
        "tensorflow": [
            None if eager._seed is None else int(eager._seed),
            None if eager_rng is None else eager_rng.getstate(),
        ],
        "generator": None if generator is None else generator.state.numpy().tolist(),
        "keras": None if seeds is None else np.asarray(seeds.state).tolist(),
    }


def restore_random_states(states: dict[str, Any]) -> None:
    """What making a generator draws is drawn before the states are set."""
    if states["keras"] is not None:
        from keras.src.random.seed_generator import global_seed_generator

        global_seed_generator().state.assign(states["keras"])
    if states["generator"] is not None:
        stateful_random_ops.get_global_generator().state.assign(states["generator"])
    seed, state = states["tensorflow"]
    eager = context.context()
    if state is not None:
        eager._set_global_seed(seed)
        eager._rng.setstate(_tuples(state))
    name, keys, *rest = states["numpy"]
    np.random.set_state((name, np.array(keys, np.uint32), *rest))
    random.setstate(_tuples(states["python"]))


def _keras_generator() -> Any:
    from keras.src.backend.common import global_state

    return global_state.get_global_attribute(_KERAS)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, (list, tuple)) else value
