"""The default seeds of Keras 3 and tf_keras. Both take them from Python's `random`, in the order in which layers are made;
pinned, each layer gets one derived from its own name, so that a layer more does not move the others. As soon as the
program seeds Python's `random` itself, Keras takes them from there again."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile
from typing import Any

from twinrun.frameworks.layers import where_made
from twinrun.frameworks.lazy import Lazy
from twinrun.frameworks.packages import KERAS, TF_KERAS
from twinrun.frameworks.stack import frames
from twinrun.frameworks.tensorflow.runtime import switch
from twinrun.protocol.control import Control, Reading
from twinrun.protocol.event import Event
from twinrun.protocol.evidence import Evidence
from twinrun.protocol.pin import PinRequest
from twinrun.protocol.seeds import derive
from twinrun.protocol.suspect import Weight
from twinrun.sources.stream import StreamSource
from twinrun.twin.callers import Caller, caller, conventions, is_users
from twinrun.twin.pins import Pins
from twinrun.twin.session import current

keras, tf_keras = Lazy("keras"), Lazy("tf_keras")
_global_state = Lazy("keras.src.backend.common.global_state")
_seed_generator = Lazy("keras.src.random.seed_generator")
_random_initializers = Lazy("keras.src.initializers.random_initializers")
_backend = Lazy("tf_keras.src.backend")
# The name under which Keras keeps the generator of keras.random.
_SHARED = "global_seed_generator"

# What is seen


def _state_draw(session: Any, original: Any) -> Any:
    def next(self: Any, ordered: bool = True) -> Any:
        session.log.record("keras-seeds", "draw-state", caller(), "a Keras seed generator")
        return original(self, ordered)

    return next


def _where_made(who: Caller) -> Caller:
    """The line that made the tf_keras layer for which this is drawn. A layer draws its weights when it is first called,
    which may be far away; what the user would seed, and looks for, is the line that made it."""
    for frame in takewhile(lambda frame: not is_users(frame.f_code.co_filename), frames()):
        made = where_made(frame.f_locals.get("self")) if frame.f_code.co_name == "build" else None
        if made is not None:
            return replace(who, file=made.file, line=made.line, function=made.function)
    return who


# Default seeds derived by layer, while pinned


def _keras_default_seed(session: Any, original: Any) -> Any:
    """`make_default_seed` draws from Python's random: whatever else the program draws there, and every layer made
    before, moves it."""

    def make_default_seed() -> int:
        if not _derives(session.pins, "keras-seed"):
            return int(original())
        return _derived(session.pins, "keras", keras.layers.Layer, keras.initializers.Initializer)

    return make_default_seed


def _tf_keras_default_seed(session: Any, original: Any) -> Any:
    """Around `get_random_seed()` and `RandomGenerator._create_seed(seed)`, which ask when a layer is first used."""

    def default_seed(*args: Any) -> Any:
        given = args[1] if len(args) > 1 else None
        pins = session.pins
        seeded = _tf_keras_stream() is not None and "python-random" not in pins.replaced
        if given is not None or not _derives(pins, "tf-keras-seed") or seeded:
            return original(*args)
        return _derived(session.pins, "tf_keras", tf_keras.layers.Layer, tf_keras.initializers.Initializer)

    return default_seed


def _derives(pins: Pins, control: str) -> bool:
    seeding = pins.seedings.get("python-random")
    by_program = seeding is not None and seeding.by == "program"
    return pins.request is not None and pins.request.wants(control) and not by_program


def _derived(pins: Pins, framework: str, layer_kind: type, initializer_kind: type) -> int:
    assert pins.request is not None
    purpose, owner = _who_asks(layer_kind, initializer_kind)
    seed = pins.request.seed_of(purpose)
    if (own := pins.replaced.get("python-random")) is not None:
        # Seeds in a row from where the program seeds, whatever the layers are called: seeded alike, models are alike.
        return keras_seed(seed, f"{framework} {purpose}", own, pins.turn(f"python-random\n{purpose}"))
    # The same name may ask again: a layer with two initialisers, or a model that is built twice.
    turn = pins.turn(f"{framework}\n{purpose}\n{owner}")
    return keras_seed(seed, f"{framework} {purpose}", owner, turn)


def keras_seed(seed: int, purpose: str, owner: str, turn: int) -> int:
    """The seed for the `turn`-th time that `owner` (a layer, say) asks Keras for a default one. Within the range that
    Keras itself draws from."""
    return derive(seed, f"keras {purpose}\n{owner}\n{turn}", below=10**9)


def _who_asks(layer_kind: type, initializer_kind: type) -> tuple[str, str]:
    """The nearest layer up the stack, and what it wants the seed for."""
    purpose, owner = "keras.random", "global"
    for frame in frames():
        thing = frame.f_locals.get("self")
        if isinstance(thing, initializer_kind) and purpose == "keras.random":
            purpose, owner = "weights", type(thing).__name__
        elif isinstance(thing, layer_kind):
            if purpose == "keras.random":
                purpose = "augmentation" if _is_augmentation(thing) else "dropout"
            return purpose, _name_of(thing)
    return purpose, owner


def _is_augmentation(layer: Any) -> bool:
    return any("preprocessing" in kind.__module__ for kind in type(layer).__mro__)


def _name_of(layer: Any) -> str:
    """A layer's name, even while it is still being made."""
    own: dict[str, Any] = vars(layer)
    for attribute in ("name", "_name"):
        if isinstance(own.get(attribute), str):
            return str(own[attribute])
    return type(layer).__name__


# Controls


def _read_keras(request: PinRequest | None) -> Reading:
    generator = _global_state.get_global_attribute(_SHARED)
    shared = None if generator is None else [int(word) for word in generator.state.numpy()]
    state = {"keras_random": shared or "not used"}
    return _read("keras-seed", "keras", _seed_generator.make_default_seed, state)


def _tf_keras_stream() -> Any:
    """The stream that tf_keras.utils.set_random_seed makes, and nothing else."""
    return getattr(_backend._SEED_GENERATOR, "generator", None)


def _read_tf_keras(request: PinRequest | None) -> Reading:
    if _tf_keras_stream() is not None:
        seeding = current().pins.seedings.get("python-random")
        state = {"seed": "unknown" if seeding is None else seeding.value}
        return Reading(state, "program", True, None, seeding.place if seeding else None)
    return _read("tf-keras-seed", "tf_keras", _backend.RandomGenerator._create_seed, {})


def _read(control: str, framework: str, default_seed: Any, more: dict[str, Any]) -> Reading:
    pins = current().pins
    seeding = pins.seedings.get("python-random")
    if seeding is not None and seeding.by == "program":
        if seeding.value is None and not seeding.restored:
            why = "default seeds come from Python's random, which the program seeded from fresh entropy"
            return Reading({"seed": "fresh entropy", **more}, "program", False, why, seeding.place)
        shown = seeding.value if isinstance(seeding.value, int) else repr(seeding.value)
        return Reading({"seed": shown, **more}, "program", True, None, seeding.place)
    if control in pins.applied:
        if getattr(default_seed, "__globals__", None) is not globals():
            why = "the program replaced Keras' default seeds"
            return Reading({"seed": "replaced", **more}, "program", False, why)
        given = sum(turns for key, turns in pins.turns.items() if key.startswith(f"{framework}\n"))
        seed = pins.applied[control]["seed"]
        return Reading({"seed": seed, "derived": "by layer", "given": given, **more}, "twinrun", True)
    if seeding is not None:
        return Reading({"seed": seeding.value, "derived": "from Python's random", **more}, seeding.by, True)
    why = "default seeds come from Python's random, which is not seeded"
    return Reading({"seed": "not set", **more}, "default", False, why)


def _control(name: str, package: str, protects: str, **more: Any) -> Control:
    return Control(
        name,
        protects,
        moment="before a model or dataset is built",
        how=f"{package}.utils.set_random_seed(42) right after the imports",
        wanted=lambda request: {"seed": request.seed, "derived": "by layer"},
        module=package,
        streams=_STREAMS,
        **more,
    )


_STREAMS = {
    "weights": "initial weights of Keras layers",
    "dropout": "dropout and other random layers of Keras",
    "augmentation": "Keras' augmentation layers, tf.image.sample_distorted_bounding_box, fractional pooling",
    "keras.random": "keras.random outside layers",
}
_DERIVES = "to derive default seeds by layer"
_KERAS = _control(
    "keras-seed",
    "keras",
    "Keras 3 initialisers, dropout, augmentation layers and keras.random without a seed",
    # The generator of keras.random is made again, from a derived seed, when it is next used without one.
    apply=switch(
        lambda: _global_state.get_global_attribute(_SHARED),
        lambda generator: _global_state.set_global_attribute(_SHARED, generator),
        None,
    ),
    read=_read_keras,
    points=(
        KERAS.point(
            "random.seed_generator:make_default_seed", _keras_default_seed, _DERIVES, "pin", everywhere=True
        ),
    ),
)
_TF_KERAS = _control(
    "tf-keras-seed",
    "tf_keras",
    "tf_keras (Keras 2) initialisers and layers without a seed",
    apply=switch(
        _tf_keras_stream, lambda stream: setattr(_backend._SEED_GENERATOR, "generator", stream), None
    ),
    read=_read_tf_keras,
    points=TF_KERAS.points(
        "{}",
        ("backend:RandomGenerator._create_seed", "utils.tf_utils:get_random_seed"),
        _tf_keras_default_seed,
        _DERIVES,
        "pin",
        everywhere=True,
    ),
)


class KerasSeeds(StreamSource):
    name = "keras-seeds"
    codes = ("TW105",)
    claims = {"python-random": ("keras", "tf_keras")}  # noqa: RUF012
    stream = "python-random"
    title = "Python's random"
    code = "TW105"
    draw_action = "take"
    actions = ("take",)
    weight = Weight(init=10, batch=5, later=9)
    controls = (_KERAS, _TF_KERAS)
    points = (
        KERAS.point(
            "random.seed_generator:SeedGenerator.next",
            _state_draw,
            "random layers draw from the state of a seed generator: in a parallel map they race for it",
        ),
    )

    def start(self, session: Any) -> None:
        conventions.blames["tf_keras"] = _where_made

    def is_own(self, event: Event) -> bool:
        return True

    def message(self, code: str, event: Event) -> str:
        return "Keras took a default seed from Python's random, which is not seeded"

    def weight_for(self, evidence: Evidence) -> Weight:
        return self.weight.plus(3) if evidence.streams else self.weight

    def used_before(self) -> list[str]:
        """Layers that took a default seed, by name."""
        drew: list[tuple[type, Callable[[Any], bool]]] = []
        layers: list[type] = []
        if "keras" in sys.modules:
            initializer = _random_initializers.RandomInitializer
            drew.append((initializer, lambda thing: getattr(thing, "_init_seed", 0) is None))
            drew.append(
                (keras.random.SeedGenerator, lambda thing: getattr(thing, "_initial_seed", 0) is None)
            )
            layers.append(keras.layers.Layer)
        if "tf_keras" in sys.modules:
            # It gets its generator when it is built.
            drew.append(
                (_backend.RandomGenerator, lambda thing: getattr(thing, "_generator", None) is not None)
            )
            layers.append(tf_keras.layers.Layer)
        everything = gc.get_objects() if layers else []
        unseeded = {
            id(thing)
            for thing in everything
            for kind, test in drew
            if isinstance(thing, kind) and test(thing)
        }
        return sorted(
            f"layer {_name_of(layer)} ({type(layer).__name__})"
            for layer in everything
            if isinstance(layer, tuple(layers)) and not unseeded.isdisjoint(map(id, vars(layer).values()))
        )
