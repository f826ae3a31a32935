"""The random states of a process that no checkpoint of Keras or TensorFlow holds, as plain values: Python's, NumPy's, what
TensorFlow derives the seeds of eager ops from, its global generator, Keras' global seed generator, and generators that a model has."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
from tensorflow.python.eager import context
from tensorflow.python.ops import stateful_random_ops

from twinrun.frameworks.keras.model_variables import model_generators

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


def generator_states(model: Any) -> dict[str, Any]:
    """The states of the generators that a model and its layers have as attributes, by name, in values that JSON can hold."""
    return {name: _plain(_state_of(one)) for name, one in model_generators(model).items()}


def restore_generators(model: Any, states: Mapping[str, Any]) -> None:
    generators = model_generators(model)
    for name in generators.keys() & states.keys():
        one = generators[name]
        if isinstance(one, np.random.Generator):
            one.bit_generator.state = states[name]
        else:
            one.state.assign(states[name])


def _state_of(generator: Any) -> Any:
    is_numpys = isinstance(generator, np.random.Generator)
    return generator.bit_generator.state if is_numpys else generator.state.numpy()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def _keras_generator() -> Any:
    from keras.src.backend.common import global_state

    return global_state.get_global_attribute(_KERAS)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, (list, tuple)) else value
