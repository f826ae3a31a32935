"""The default seeds that Keras hands to initialisers and layers, derived from the layer that asks. The one
place where pinning changes Keras. Seen to work on Keras 3.8 and 3.15, tf_keras 2.18 and 2.21."""

from __future__ import annotations

import functools
import sys
from types import FrameType
from typing import Any

from twinrun.protocol import seeds
from twinrun.twin.pins import current
from twinrun.twin.replacing import replace_everywhere

_MARK = "_twinrun_derived"


def is_derived(function: Any) -> bool:
    return hasattr(function, _MARK)


def derive_by_layer_in_keras() -> None:
    """`make_default_seed` draws from Python's random: whatever else the program draws there, and every layer
    made before, moves it."""
    from keras.src.initializers.initializer import Initializer
    from keras.src.layers.layer import Layer
    from keras.src.random import seed_generator

    original = seed_generator.make_default_seed
    if is_derived(original):
        return

    @functools.wraps(original)
    def make_default_seed() -> int:
        if not _is_ours("keras-seed"):
            return int(original())
        return _derived("keras", Layer, Initializer)

    setattr(make_default_seed, _MARK, True)
    replace_everywhere([(original, make_default_seed)], "keras")


def derive_by_layer_in_tf_keras() -> None:
    """The same for tf_keras, whose layers and initialisers ask when they are first used."""
    from tf_keras.src import backend
    from tf_keras.src.engine.base_layer import Layer
    from tf_keras.src.initializers.initializers import Initializer
    from tf_keras.src.utils import tf_utils

    create, get = backend.RandomGenerator._create_seed, tf_utils.get_random_seed
    if is_derived(create):
        return

    def ours() -> bool:
        return _is_ours("tf-keras-seed") and getattr(backend._SEED_GENERATOR, "generator", None) is None

    @functools.wraps(create)
    def create_seed(self: Any, user_specified_seed: Any) -> Any:
        if user_specified_seed is not None or not ours():
            return create(self, user_specified_seed)
        return _derived("tf_keras", Layer, Initializer)

    @functools.wraps(get)
    def get_random_seed() -> Any:
        return _derived("tf_keras", Layer, Initializer) if ours() else get()

    setattr(create_seed, _MARK, True)
    backend.RandomGenerator._create_seed = create_seed
    replace_everywhere([(get, get_random_seed)], "tf_keras")


def _is_ours(control: str) -> bool:
    session = current()
    seeding = session.seedings.get("python-random")
    if seeding is not None and seeding.by == "program":
        return False
    return session.request is not None and session.request.wants(control)


def _derived(framework: str, layer_kind: type, initializer_kind: type) -> int:
    session = current()
    assert session.request is not None
    purpose, owner = _who_asks(layer_kind, initializer_kind)
    # The same name may ask again: a layer with two initialisers, or a model that is built twice.
    turn = session.turn(f"{framework}\n{purpose}\n{owner}")
    return seeds.keras_seed(session.request.seed, f"{framework} {purpose}", owner, turn)


def _who_asks(layer_kind: type, initializer_kind: type) -> tuple[str, str]:
    """The nearest layer up the stack, and what it wants the seed for."""
    purpose, owner = "keras.random", "global"
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        thing = frame.f_locals.get("self")
        if isinstance(thing, initializer_kind) and purpose == "keras.random":
            purpose, owner = "weights", type(thing).__name__
        elif isinstance(thing, layer_kind):
            if purpose == "keras.random":
                purpose = "augmentation" if _is_augmentation(thing) else "dropout"
            return purpose, name_of(thing)
        frame = frame.f_back
    return purpose, owner


def _is_augmentation(layer: Any) -> bool:
    return any("preprocessing" in kind.__module__ for kind in type(layer).__mro__)


def name_of(layer: Any) -> str:
    """A layer's name, even while it is still being made."""
    own: dict[str, Any] = vars(layer)
    for attribute in ("name", "_name"):
        if isinstance(own.get(attribute), str):
            return str(own[attribute])
    return type(layer).__name__
