"""TensorFlow's random ops and its global seed. Its generators, part of the same source, are in `tf_generators.py`."""

from __future__ import annotations

import gc
import inspect
import re
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from twinrun.frameworks.packages import tf_point, tf_points
from twinrun.frameworks.tensorflow.points import LARGEST, bind, op_seed
from twinrun.frameworks.tensorflow.runtime import context, tf, tf_stack
from twinrun.frameworks.tensorflow.sources import tf_generators
from twinrun.frameworks.tensorflow.sources.shuffle import PIPELINE, SEPARATE_SEEDS
from twinrun.protocol.control import Control, Reading, Undo
from twinrun.protocol.event import Event
from twinrun.protocol.evidence import Evidence
from twinrun.protocol.pin import PinRequest
from twinrun.protocol.suspect import Suspect, Weight
from twinrun.sources.seeding import apply_seed
from twinrun.sources.stream import StreamSource, by_shuffler
from twinrun.twin.callers import blamed_caller, caller, conventions, is_users
from twinrun.twin.session import current

_RANDOM_OPS = (
    "random_uniform", "random_uniform_int", "random_standard_normal", "truncated_normal", "random_shuffle",
    "multinomial", "random_gamma", "random_poisson", "random_poisson_v2", "parameterized_truncated_normal",
)  # fmt: skip
# Behind `tf.nn.nce_loss` and `sampled_softmax_loss` too. `all_candidate_sampler` takes all, and draws nothing.
_CANDIDATE_SAMPLERS = ("uniform", "log_uniform", "learned_unigram", "fixed_unigram")
_STATELESS = "ops.gen_stateless_random_ops_v2:stateless_{}_v2"
_STATELESS_OPS = (
    "random_uniform", "random_normal", "truncated_normal", "random_uniform_int", "random_uniform_full_int",
)  # fmt: skip
# These take seed=0 for "fresh entropy" whatever the global seed, and refuse to run under op determinism.
_BOXES = "sample_distorted_bounding_box"
_IGNORE_SEED = (
    "image_ops_impl:sample_distorted_bounding_box_v2",
    "nn_ops:fractional_max_pool_v2",
    "nn_ops:fractional_avg_pool_v2",
)
_CONTROL = "tensorflow-seed"
_LARGEST = 1 << 20  # bytes of a draw that are digested
_FRESH = 624  # where a newly seeded stream of Python's random stands
_GENERATED = "__autograph_generated_file"
_RANDOM_DATASETS = "Shuffle|Random|Sample"


# Draws


def _random_op(session: Any, original: Any) -> Any:
    from twinrun.frameworks.tensorflow.tensors import as_array

    call = f"tf.random ({original.__name__})"

    def draw(*args: Any, **kwargs: Any) -> Any:
        who = blamed_caller()
        seeded = bool(kwargs.get("seed") or kwargs.get("seed2"))
        number = session.log.frozen("tf-random", "draw", who)
        if number is not None:
            kwargs.update(seed=number, seed2=number ^ 0x5BD1)
        result = original(*args, **kwargs)
        drawn = result[0] if isinstance(result, tuple) else result
        array = as_array(drawn)  # None in a graph
        data = array.tobytes() if array is not None and array.nbytes < _LARGEST else b""
        session.log.record("tf-random", "draw", who, call, data, seeded=seeded)
        return result

    return draw


def _stateless_op(session: Any, original: Any) -> Any:
    """Not nondeterministic by itself: what it gives follows from its key. Recorded for programs of which nothing else is
    seen."""
    from twinrun.frameworks.tensorflow.tensors import as_array

    call = f"tf.random ({original.__name__})"

    def draw(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if session.log.step == 0 and (array := as_array(result)) is not None:
            session.log.record("tf-random", "stateless", caller(), call, array.tobytes())
        return result

    return draw


# Seeds


def _set_seed(session: Any, original: Any) -> Any:
    """`tf.random.set_seed` ends here, however it was reached."""

    def set_global_seed(seed: Any) -> None:
        who = caller()
        number = session.log.frozen("tf-random", "seed", who)
        _record_seed(session, who, "tf.random.set_seed", seed)
        seed = session.pins.reseeded(_CONTROL, seed, below=LARGEST)
        original(seed if number is None else number)
        session.pins.seeded(_CONTROL, seed)

    return set_global_seed


def _graph_seed(session: Any, original: property) -> property:
    """`tf.compat.v1.set_random_seed`, where a graph is being built. While pinned, a graph of TensorFlow 1 that the program
    does not seed has a seed too: under op determinism its random ops could not even be built without one."""
    assert original.fset is not None and original.fget is not None
    set_original, get_original = original.fset, original.fget

    def get_seed(graph: Any) -> Any:
        seed, request = get_original(graph), session.pins.request
        if seed is not None or graph.building_function or request is None or not request.wants(_CONTROL):
            return seed
        return op_seed(request.seed_of(_CONTROL), "tensorflow graph")

    def set_seed(graph: Any, seed: Any) -> None:
        if not graph.building_function:  # a tf.function's graph takes the global seed over by itself
            _record_seed(session, caller(), "tf.compat.v1.set_random_seed", seed)
            seed = session.pins.reseeded(_CONTROL, seed, below=LARGEST)
        set_original(graph, seed)

    return property(get_seed, set_seed)


def _record_seed(session: Any, who: Any, call: str, seed: Any) -> None:
    shown = repr(seed)
    session.log.record("tf-random", "seed", who, call, shown.encode(), seed=shown[:80])


def _seeded_op(session: Any, original: Any) -> Any:
    """Gives an op that ignores the global seed one of its own while pinned."""
    signature = inspect.signature(original)
    name = original.__name__

    def op(*args: Any, **kwargs: Any) -> Any:
        call = bind(signature, args, kwargs)
        if call is None or call.arguments.get("seed") or not session.pins.pins(_CONTROL):
            return original(*args, **kwargs)
        turn = session.pins.turn(name)
        call.arguments["seed"] = op_seed(
            session.pins.request.seed_of("augmentation"), f"tensorflow augmentation\n{name}\n{turn}"
        )
        return original(*call.args, **call.kwargs)

    return op


def _wanted(request: PinRequest) -> dict[str, int]:
    return {"seed": op_seed(request.seed_of(_CONTROL), "tensorflow ops")}


def _apply_seed(request: PinRequest) -> Undo:
    _know_autograph()  # in a process that is only pinned, `start` was not called
    active = context.context()
    before, stream = active._seed, getattr(active, "_rng", None)

    def restore() -> None:
        tf.random.set_seed(before)
        if stream is not None:
            active._rng = stream

    return apply_seed(_CONTROL, _wanted(request)["seed"], tf.random.set_seed, restore)


def _read_seed(request: PinRequest | None) -> Reading:
    found = context.global_seed()
    seeding = current().pins.seedings.get(_CONTROL)
    if found is None:
        if seeding is not None and seeding.by == "program":
            return Reading("not set", "program", False, "the program took the seed away", seeding.place)
        return Reading("not set", "default", False, "ops without a seed of their own draw from fresh entropy")
    state = {"seed": found, "drawn": context.context()._rng.getstate()[1][-1] != _FRESH}
    if seeding is None or seeding.value != found:
        return Reading(state, "program", True)
    return Reading(state, seeding.by, True, None, seeding.place)


# Conventions


def _know_autograph() -> None:
    """Autograph runs a copy of the user's function, from a generated file."""
    conventions.generated[_GENERATED] = _autograph_origin
    conventions.contexts["tensorflow/python/eager/polymorphic_function"] = "graph"


def _autograph_origin(frame: FrameType) -> tuple[str, int, str] | None:
    """The user's own line for a line of the copy."""
    for entry in reversed(tf_stack.extract_stack()):
        if _GENERATED not in entry.filename and is_users(entry.filename):
            return entry.filename, entry.lineno, frame.f_code.co_name.removeprefix("tf__")
    return None


_SEED = Control(
    name=_CONTROL,
    protects="tf.random ops, tf.data shuffles and samplers that are given no seed of their own",
    moment="before a model or dataset is built",
    how="tf.random.set_seed(42), or keras.utils.set_random_seed(42), right after the imports",
    wanted=_wanted,
    apply=_apply_seed,
    read=_read_seed,
    module="tensorflow",
    points=(
        *SEPARATE_SEEDS,
        *tf_points("ops.{}", _IGNORE_SEED, _seeded_op, "it ignores the global seed", "pin", everywhere=True),
    ),
    streams={
        PIPELINE: "shuffles, samplers and random ops of tf.data, also where `fit` shuffles arrays",
        _CONTROL: "tf.random ops elsewhere",
        "augmentation": "Keras' augmentation layers, tf.image.sample_distorted_bounding_box, fractional pooling",
    },
)


class TfRandom(StreamSource):
    name = "tf-random"
    codes = ("TW103", "TW104", "TW105")
    stream = "tf-random"
    title = "TensorFlow"
    code = "TW104"
    actions = ("draw", "seed", "global-generator")
    weight = Weight(init=9, batch=8, later=9)
    controls = (_SEED, tf_generators.GLOBAL_GENERATOR)
    points = (
        *tf_points("ops.gen_random_ops:{}", _RANDOM_OPS, _random_op, "values and seeds", optional=True),
        tf_point(f"ops.gen_image_ops:{_BOXES}_v2", _random_op, "values and seeds", optional=True),
        *tf_points(
            "ops.gen_candidate_sampling_ops:{}_candidate_sampler",
            _CANDIDATE_SAMPLERS,
            _random_op,
            "values and seeds",
            optional=True,
        ),
        *tf_points(
            _STATELESS, _STATELESS_OPS, _stateless_op, "draws of programs without steps", optional=True
        ),
        tf_point(
            "eager.context:set_global_seed", _set_seed, "to see its seed", "cause", "pin", everywhere=True
        ),
        tf_point("framework.ops:Graph.seed", _graph_seed, "to see a graph being seeded", "cause", "pin"),
        *tf_generators.POINTS,
    )

    def start(self, session: Any) -> None:
        _know_autograph()

    def used_before(self) -> list[str]:
        """Variables, datasets and generators that exist."""
        if "tensorflow" not in sys.modules:
            return []
        found = []
        for thing in gc.get_objects():
            kind = type(thing)
            if issubclass(kind, tf.random.Generator):
                found.append("a tf.random.Generator")
            elif issubclass(kind, tf.data.Dataset) and re.search(_RANDOM_DATASETS, kind.__name__):
                found.append(f"a dataset ({kind.__name__.strip('_')})")
            elif issubclass(kind, tf.Variable) and _may_have_been_drawn(thing):
                found.append(f"variable {thing.name}")
        return sorted(found)

    def is_own(self, event: Event) -> bool:
        return True

    def code_for(self, evidence: Evidence, event: Event) -> str:
        if event.via == "tf_keras" and not by_shuffler(event):
            return "TW105"
        return super().code_for(evidence, event)

    def message(self, code: str, event: Event) -> str:
        if _BOXES in event.call:
            return f"tf.image.{_BOXES} is given no seed, and follows no global one"
        return "a TensorFlow random op runs without a seed"

    def seed_to_write(self, event: Event) -> str:
        return f"tf.image.{_BOXES}(…, seed=42)" if _BOXES in event.call else super().seed_to_write(event)

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        yield from super().suspects(evidence)
        yield from tf_generators.suspects(evidence)


def _may_have_been_drawn(variable: Any) -> bool:
    """A variable that holds one and the same value throughout (a counter, zeros) was not drawn."""
    try:
        if not (variable.dtype.is_floating and tf.executing_eagerly()):
            return False
        some = variable.numpy().ravel()[:1000]
        return bool(some.size > 1 and (some != some[0]).any())
    except Exception:
        return False
