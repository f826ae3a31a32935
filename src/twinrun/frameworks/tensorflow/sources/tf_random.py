"""TensorFlow's random ops, its global seed, and its generators."""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import msgspec

from twinrun.findings.catalogue import finding
from twinrun.frameworks.tensorflow.sources.points import bind, tf_point
from twinrun.frameworks.tensorflow.sources.shuffle import SEPARATE_SEEDS
from twinrun.protocol import seeds
from twinrun.protocol.control import Control, Reading, Undo
from twinrun.protocol.event import Event
from twinrun.protocol.evidence import Evidence, differs, one
from twinrun.protocol.intervention import Freeze
from twinrun.protocol.pin import PinRequest
from twinrun.protocol.point import Point, Wrap
from twinrun.protocol.suspect import Suspect, Weight
from twinrun.sources.stream import StreamSource
from twinrun.twin.callers import blamed_caller, caller, conventions, is_users, user_site
from twinrun.twin.pins import Seeding
from twinrun.twin.session import current

_RANDOM_OPS = (
    "random_uniform", "random_uniform_int", "random_standard_normal", "truncated_normal", "random_shuffle",
    "multinomial", "random_gamma", "random_poisson", "random_poisson_v2", "parameterized_truncated_normal",
)  # fmt: skip
_STATELESS_OPS = (
    "stateless_random_uniform_v2", "stateless_random_normal_v2", "stateless_truncated_normal_v2",
    "stateless_random_uniform_int_v2", "stateless_random_uniform_full_int_v2",
)  # fmt: skip
# These take seed=0 for "fresh entropy" whatever the global seed, and refuse to run under op determinism.
_IGNORE_GLOBAL_SEED = (
    "image_ops_impl:sample_distorted_bounding_box_v2",
    "nn_ops:fractional_max_pool_v2",
    "nn_ops:fractional_avg_pool_v2",
)
_GENERATOR = "ops.stateful_random_ops:Generator"
_LARGEST = 1 << 20  # bytes of a draw that are digested
_GENERATED = "__autograph_generated_file"
_RANDOM_DATASETS = ("Shuffle", "Random", "Sample")


class GeneratorDraw(msgspec.Struct, frozen=True):
    """Of which generator a draw was made."""

    is_global: bool = False


# Draws


def _random_op(name: str) -> Wrap:
    def wrap(session: Any, original: Any) -> Any:
        from tensorflow.python.eager import context

        from twinrun.frameworks.tensorflow.tensors import as_array

        def draw(*args: Any, **kwargs: Any) -> Any:
            who = blamed_caller()
            seeded = bool(kwargs.get("seed") or kwargs.get("seed2"))
            number = session.log.frozen("tf-random", "draw", who)
            if number is not None:
                kwargs.update(seed=number, seed2=number ^ 0x5BD1)
            result = original(*args, **kwargs)
            array = as_array(result) if context.executing_eagerly() else None
            data = array.tobytes() if array is not None and array.nbytes < _LARGEST else b""
            session.log.record("tf-random", "draw", who, f"tf.random ({name})", data, seeded=seeded)
            return result

        return draw

    return wrap


def _stateless_op(name: str) -> Wrap:
    """Not nondeterministic by itself: what it gives follows from its key. Recorded for programs of which nothing else is
    seen."""

    def wrap(session: Any, original: Any) -> Any:
        from tensorflow.python.eager import context

        from twinrun.frameworks.tensorflow.tensors import as_array

        def draw(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if context.executing_eagerly() and session.log.step == 0:
                array = as_array(result)
                data = b"" if array is None else array.tobytes()
                session.log.record("tf-random", "stateless", caller(), f"tf.random ({name})", data)
            return result

        return draw

    return wrap


def _generator_draw(session: Any, original: Any) -> Any:
    from tensorflow.python.ops import stateful_random_ops

    def _prepare_key_counter(self: Any, shape: Any) -> Any:
        is_global = self is stateful_random_ops.global_generator
        detail = GeneratorDraw(True) if is_global else None
        session.log.record("tf-random", "generator", caller(), "tf.random.Generator", detail=detail)
        return original(self, shape)

    return _prepare_key_counter


# Seeds


def _set_global_seed(session: Any, original: Any) -> Any:
    """`tf.random.set_seed` ends here, however it was reached."""

    def set_global_seed(seed: Any) -> None:
        who = caller()
        number = session.log.frozen("tf-random", "seed", who)
        _record_seed(session, who, "tf.random.set_seed", seed)
        original(seed if number is None else number)
        session.pins.seeded("tensorflow-seed", seed)

    return set_global_seed


def _graph_seed(session: Any, original: property) -> property:
    """`tf.compat.v1.set_random_seed`, where a graph is being built."""
    assert original.fset is not None
    set_original = original.fset

    def set_seed(graph: Any, seed: Any) -> None:
        if not graph.building_function:  # a tf.function's graph takes the global seed over by itself
            _record_seed(session, caller(), "tf.compat.v1.set_random_seed", seed)
        set_original(graph, seed)

    return property(original.fget, set_seed)


def _record_seed(session: Any, who: Any, call: str, seed: Any) -> None:
    shown = repr(seed)
    session.log.record("tf-random", "seed", who, call, shown.encode(), seed=shown[:80])


def _seeded_op(session: Any, original: Any) -> Any:
    """Gives an op that ignores the global seed one of its own while pinned."""
    signature = inspect.signature(original)
    name = original.__name__

    def op(*args: Any, **kwargs: Any) -> Any:
        call = bind(signature, args, kwargs)
        if call is None or call.arguments.get("seed") or not session.pins.pins("tensorflow-seed"):
            return original(*args, **kwargs)
        call.arguments["seed"] = seeds.augmentation_seed(session.pins.request.seed, name, session.pins.turn(name))
        return original(*call.args, **call.kwargs)

    return op


def _apply_seed(request: PinRequest) -> Undo:
    import tensorflow as tf
    from tensorflow.python.eager import context

    _know_autograph()  # in a process that is only pinned, `start` was not called
    pins = current().pins
    active = context.context()
    before, stream = active._seed, getattr(active, "_rng", None)
    wanted = seeds.tensorflow_seed(request.seed)
    with pins.acting():
        tf.random.set_seed(wanted)
    pins.seedings["tensorflow-seed"] = Seeding(wanted, "twinrun")

    def undo() -> None:
        with pins.acting():
            tf.random.set_seed(before)
        if stream is not None:
            active._rng = stream
        pins.seedings.pop("tensorflow-seed", None)

    return undo


def _read_seed(request: PinRequest | None) -> Reading:
    from tensorflow.python.eager import context

    found = context.global_seed()
    seeding = current().pins.seedings.get("tensorflow-seed")
    if found is None:
        if seeding is not None and seeding.by == "program":
            return Reading("not set", "program", False, "the program took the seed away", seeding.place)
        return Reading("not set", "default", False, "ops without a seed of their own draw from fresh entropy")
    if seeding is None or seeding.value != found:
        return Reading({"seed": found}, "program", True)
    return Reading({"seed": found}, seeding.by, True, None, seeding.place)


# Generators


def _fresh_generator(session: Any, original: classmethod[Any, Any, Any]) -> Any:
    """Under op determinism `from_non_deterministic_state` raises and the program stops. Fresh entropy is the program's
    own choice: while Twinrun pins, the program gets it, and it is named."""
    from tensorflow.python.framework import config

    from twinrun.frameworks.tensorflow.tensors import as_array

    make = original.__func__

    def from_non_deterministic_state(cls: Any, alg: Any = None) -> Any:
        who = caller()
        # The global generator is made by the first who asks for it, inside TensorFlow.
        is_global = who is not None and who.via == "tensorflow"
        event = ("tf-random", "global-generator") if is_global else ("generators", "make")
        number = session.log.frozen(*event, who)
        if number is not None:
            made = cls.from_seed(number, alg=alg)
        elif session.pins.pins("op-determinism") and config.is_op_determinism_enabled():
            session.pins.notice(_fresh_entropy())
            config.disable_op_determinism()
            try:
                made = make(cls, alg)
            finally:
                config.enable_op_determinism()
        else:
            made = make(cls, alg)
        call = "get_global_generator" if is_global else "Generator.from_non_deterministic_state"
        state = as_array(made.state.value()) if session.log.recording else None
        session.log.record(*event, who, f"tf.random.{call}", b"" if state is None else state.tobytes())
        return made

    return classmethod(from_non_deterministic_state)


def _fresh_entropy() -> Any:
    file, line = user_site(2) or (None, None)
    return finding(
        "TW103",
        "a tf.random.Generator is made from fresh entropy, which pinning cannot replace",
        file=file,
        line=line,
        evidence=("tf.random.Generator.from_non_deterministic_state() was called",),
        fix="tf.random.Generator.from_seed(42)",
    )


def _get_global_generator(session: Any, original: Any) -> Any:
    """TensorFlow makes its global generator from fresh entropy when it is first asked for. The pinned one is made at the
    same moment, not before: making it starts the runtime, and the program may not have chosen its devices yet."""

    def get_global_generator() -> Any:
        if _global_generator() is None and session.pins.pins("tensorflow-generator"):
            _make_global_generator()
        return original()

    return get_global_generator


def _set_global_generator(session: Any, original: Any) -> Any:
    def set_global_generator(generator: Any) -> None:
        original(generator)
        session.pins.seeded("tensorflow-generator", None, restored=True)

    return set_global_generator


def _global_generator() -> Any:
    from tensorflow.python.ops import stateful_random_ops

    return stateful_random_ops.global_generator


def _make_global_generator() -> None:
    import tensorflow as tf
    from tensorflow.python.framework import ops
    from tensorflow.python.ops import stateful_random_ops

    pins = current().pins
    assert pins.request is not None
    seed = seeds.tensorflow_generator_seed(pins.request.seed)
    with ops.init_scope(), pins.acting():
        generator = tf.random.Generator.from_key_counter(key=seed, counter=[0, 0], alg="philox")
        stateful_random_ops.set_global_generator(generator)


def _apply_generator(request: PinRequest) -> Undo:
    from tensorflow.python.ops import stateful_random_ops

    before = _global_generator()
    if before is not None:
        _make_global_generator()

    def undo() -> None:
        stateful_random_ops.global_generator = before
        current().pins.seedings.pop("tensorflow-generator", None)

    return undo


def _read_generator(request: PinRequest | None) -> Reading:
    generator = _global_generator()
    pins = current().pins
    pinned = pins.applied.get("tensorflow-generator")
    if generator is None:
        if pinned:
            return Reading("not used yet; seeded when it is", "twinrun", True)
        return Reading("not used", "default", True)
    # The last word of the state is its key: draws move the counter before it, only reseeding changes the key.
    *counter, key = (int(word) for word in generator.state.numpy())
    state = {"key": key, "counter": counter}
    seeding = pins.seedings.get("tensorflow-generator")
    if seeding is not None and seeding.by == "program":
        return Reading(state, "program", True, None, seeding.place)
    if pinned and key == pinned["seed"]:
        return Reading(state, "twinrun", True)
    if pinned:
        return Reading(state, "program", False, "the generator was replaced or reset without a call to set it")
    return Reading(state, "default", False, "it was seeded from fresh entropy when it was first used")


# Conventions


def _know_autograph() -> None:
    """Autograph runs a copy of the user's function, from a generated file."""
    conventions.generated[_GENERATED] = _autograph_origin
    conventions.contexts["tensorflow/python/eager/polymorphic_function"] = "graph"


def _autograph_origin(frame: FrameType) -> tuple[str, int] | None:
    """The user's own line for a line of the copy."""
    from tensorflow.python.util import tf_stack

    for entry in reversed(tf_stack.extract_stack()):
        if _GENERATED not in entry.filename and is_users(entry.filename):
            return entry.filename, entry.lineno
    return None


_SEED = Control(
    name="tensorflow-seed",
    protects="tf.random ops, tf.data shuffles and samplers that are given no seed of their own",
    moment="before a model or dataset is built",
    how="tf.random.set_seed(42), or keras.utils.set_random_seed(42), right after the imports",
    wanted=lambda request: {"seed": seeds.tensorflow_seed(request.seed)},
    apply=_apply_seed,
    read=_read_seed,
    module="tensorflow",
    points=(
        SEPARATE_SEEDS,
        *(
            tf_point(f"ops.{op}", _seeded_op, "it ignores the global seed", "pin", everywhere=True)
            for op in _IGNORE_GLOBAL_SEED
        ),
    ),
)
_GLOBAL_GENERATOR = Control(
    name="tensorflow-generator",
    protects="draws from tf.random.get_global_generator()",
    moment="before a model or dataset is built",
    how="tf.random.set_global_generator(tf.random.Generator.from_seed(42))",
    wanted=lambda request: {"seed": seeds.tensorflow_generator_seed(request.seed)},
    apply=_apply_generator,
    read=_read_generator,
    module="tensorflow",
    points=(
        tf_point(
            "ops.stateful_random_ops:get_global_generator",
            _get_global_generator,
            "to make the global generator from a seed",
            "pin",
            everywhere=True,
        ),
        tf_point(
            "ops.stateful_random_ops:set_global_generator",
            _set_global_generator,
            "to see the program set its own generator",
            "pin",
            everywhere=True,
        ),
    ),
)


def _op_points(module: str, names: tuple[str, ...], wrap: Any, reason: str) -> Iterator[Point]:
    return (tf_point(f"ops.{module}:{name}", wrap(name), reason, optional=True) for name in names)


class TfRandom(StreamSource):
    name = "tf-random"
    codes = ("TW103", "TW104", "TW105")
    stream = "tf-random"
    title = "TensorFlow"
    code = "TW104"
    actions = ("draw", "seed", "global-generator")
    weight = Weight(init=9, batch=8, later=9)
    controls = (_SEED, _GLOBAL_GENERATOR)
    points = (
        *_op_points("gen_random_ops", _RANDOM_OPS, _random_op, "random ops: what they give, and whether seeded"),
        *_op_points("gen_stateless_random_ops_v2", _STATELESS_OPS, _stateless_op, "draws of a program without steps"),
        tf_point(
            "eager.context:set_global_seed",
            _set_global_seed,
            "to see TensorFlow being seeded",
            "cause",
            "pin",
            everywhere=True,
        ),
        tf_point("framework.ops:Graph.seed", _graph_seed, "to see a graph being seeded"),
        tf_point(f"{_GENERATOR}._prepare_key_counter", _generator_draw, "every draw of a tf.random.Generator"),
        tf_point(
            f"{_GENERATOR}.from_non_deterministic_state",
            _fresh_generator,
            "to see generators made from fresh entropy",
            "cause",
            "pin",
        ),
    )

    def start(self, session: Any) -> None:
        _know_autograph()

    def used_before(self) -> list[str]:
        """Variables, datasets and generators that exist."""
        if "tensorflow" not in sys.modules:
            return []
        import tensorflow as tf

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

    def is_own(self, event: Event) -> bool:
        return True

    def code_for(self, evidence: Evidence, event: Event) -> str:
        return "TW105" if event.via == "tf_keras" else super().code_for(evidence, event)

    def message(self, code: str, event: Event) -> str:
        return "a TensorFlow random op runs without a seed"

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        yield from super().suspects(evidence)
        made = [one(pair) for pair in evidence.of(self.name, "global-generator") if differs(pair)]
        if not made:
            return
        # It is made by the first who asks for it: to blame is the line that draws.
        drawn = [
            event
            for pair in evidence.of(self.name, "generator")
            if (event := one(pair)).detail_as(GeneratorDraw).is_global
        ]
        blamed = drawn[0] if drawn else made[0]
        notes = [f"it is made at {made[0].place}, from the system's entropy"]
        notes += [f"it is drawn from at {event.place}" for event in drawn[:3]]
        yield Suspect(
            source=self.name,
            code="TW103",
            message="TensorFlow's global generator is drawn from, and was never given a seed",
            freeze=tuple(Freeze.at(event) for event in made),
            file=blamed.file,
            line=blamed.line,
            weight=Weight(init=8, batch=9, later=7),
            notes=tuple(notes),
            experiment="with the global generator made from a fixed seed",
            narrows=True,
        )


def _may_have_been_drawn(variable: Any) -> bool:
    """A variable that holds one and the same value throughout (a counter, zeros) was not drawn."""
    import tensorflow as tf

    try:
        if not (variable.dtype.is_floating and tf.executing_eagerly()):
            return False
        some = variable.numpy().ravel()[:1000]
        return bool(some.size > 1 and (some != some[0]).any())
    except Exception:
        return False
