"""The seeds of Keras 3 and of tf_keras. Both ask Python's `random` for a default seed, in the order in which
layers are made; pinned, each layer gets one derived from its own name instead, so that a layer more does not
move the others. As soon as the program seeds Python's `random` itself, Keras asks there again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from twinrun.frameworks.keras import default_seeds
from twinrun.protocol.control import Actions, Reading, Undo
from twinrun.protocol.pin import PinRequest
from twinrun.sources.interpreter import by
from twinrun.twin.pins import current

# Keras 3

# The name under which Keras keeps the generator of keras.random.
_SHARED = "global_seed_generator"


def apply_keras(request: PinRequest) -> Undo:
    from keras.src.backend.common import global_state

    default_seeds.derive_by_layer_in_keras()
    before = global_state.get_global_attribute(_SHARED)
    # Made anew, from a derived seed, when keras.random is next used without one.
    global_state.set_global_attribute(_SHARED, None)

    def undo() -> None:
        global_state.set_global_attribute(_SHARED, before)

    return undo


def read_keras(request: PinRequest | None) -> Reading:
    from keras.src.backend.common import global_state
    from keras.src.random import seed_generator

    generator = global_state.get_global_attribute(_SHARED)
    shared = None if generator is None else [int(word) for word in generator.state.numpy()]
    in_place = default_seeds.is_derived(seed_generator.make_default_seed)
    return _read("keras-seed", "keras", in_place, {"keras_random": shared or "not used"})


# tf_keras


def apply_tf_keras(request: PinRequest) -> Undo:
    from tf_keras.src import backend

    default_seeds.derive_by_layer_in_tf_keras()
    before = getattr(backend._SEED_GENERATOR, "generator", None)
    backend._SEED_GENERATOR.generator = None

    def undo() -> None:
        backend._SEED_GENERATOR.generator = before

    return undo


def read_tf_keras(request: PinRequest | None) -> Reading:
    from tf_keras.src import backend

    in_place = default_seeds.is_derived(backend.RandomGenerator._create_seed)
    if getattr(backend._SEED_GENERATOR, "generator", None) is not None:
        # Only tf_keras.utils.set_random_seed makes this stream.
        seeding = current().seedings.get("python-random")
        state = {"seed": "unknown" if seeding is None else seeding.value}
        return Reading(state, "program", True, None, seeding.place if seeding else None)
    return _read("tf-keras-seed", "tf_keras", in_place, {})


def _read(control: str, framework: str, in_place: bool, more: dict[str, Any]) -> Reading:
    session = current()
    seeding = session.seedings.get("python-random")
    if seeding is not None and seeding.by == "program":
        if seeding.value is None and not seeding.restored:
            why = "default seeds come from Python's random, which the program seeded from fresh entropy"
            return Reading({"seed": "fresh entropy", **more}, "program", False, why, seeding.place)
        shown = seeding.value if isinstance(seeding.value, int) else repr(seeding.value)
        return Reading({"seed": shown, **more}, "program", True, None, seeding.place)
    if control in session.applied:
        if not in_place:
            return Reading(
                {"seed": "replaced", **more}, "program", False, "the program replaced Keras' default seeds"
            )
        given = sum(turns for key, turns in session.turns.items() if key.startswith(f"{framework}\n"))
        seed = session.applied[control]["seed"]
        return Reading({"seed": seed, "derived": "by layer", "given": given, **more}, "twinrun", True)
    if seeding is not None:
        return Reading({"seed": seeding.value, "derived": "from Python's random", **more}, by(seeding), True)
    why = "default seeds come from Python's random, which is not seeded"
    return Reading({"seed": "not set", **more}, "default", False, why)


def made_before() -> list[str]:
    """Layers that took a default seed before now, by name: what a seed set now comes too late for."""
    import gc

    kinds: list[tuple[type, Callable[[Any], bool]]] = []
    layers: list[type] = []
    if "keras" in sys.modules:
        import keras
        from keras.src.initializers.random_initializers import RandomInitializer

        kinds.append((RandomInitializer, lambda thing: thing._init_seed is None))
        kinds.append((keras.random.SeedGenerator, lambda thing: thing._initial_seed is None))
        layers.append(keras.layers.Layer)
    if "tf_keras" in sys.modules:
        import tf_keras
        from tf_keras.src.backend import RandomGenerator

        kinds.append((RandomGenerator, lambda thing: thing._built and thing._generator is not None))
        layers.append(tf_keras.layers.Layer)
    everything = gc.get_objects()
    unseeded = {
        id(thing)
        for thing in everything
        for kind, drew in kinds
        if isinstance(thing, kind) and _safely(drew, thing)
    }
    found = []
    for layer in everything:
        if isinstance(layer, tuple(layers)) and any(id(value) in unseeded for value in vars(layer).values()):
            found.append(f"layer {default_seeds.name_of(layer)} ({type(layer).__name__})")
    return sorted(found)


def _safely(test: Callable[[Any], bool], thing: Any) -> bool:
    try:
        return test(thing)
    except Exception:
        return False


ACTIONS: dict[str, Actions] = {
    "keras-seed": Actions(read_keras, apply_keras),
    "tf-keras-seed": Actions(read_tf_keras, apply_tf_keras),
}
