"""Randomness: seeds, global streams, and generator objects of Python, NumPy and TensorFlow.

A draw from an unseeded global stream is an origin (TW101, TW102, TW104); so is a generator made without a
seed (TW103). A draw from a stream that was seeded with something that varies carries the marks of its seed.
"""

from __future__ import annotations

from twinrun.audit.call import Call, Handler
from twinrun.audit.containers import disorder
from twinrun.audit.marks import NONE, ORDER, VALUE, Marks, as_value
from twinrun.audit.names import last
from twinrun.audit.values import Thing, join, plain, total
from twinrun.audit.world import NUMPY, PYTHON, STREAMS, TENSORFLOW

_CODES = {PYTHON: "TW101", NUMPY: "TW102", TENSORFLOW: "TW104"}

# -- seeds --------------------------------------------------------------------------------------------

# Functions of other libraries that seed all three streams, and the names that such functions are given.
_SEED_NAMES = frozenset(
    {"seed_everything", "set_seed", "set_seeds", "set_all_seeds", "seed_all", "set_random_seed", "fix_seed"}
    | {
        "set_global_seed",
        "set_determinism",
        "set_random_seeds",
        "make_deterministic",
        "fix_seeds",
        "setup_seed",
    }
    | {
        "fix_random_seed",
        "seed_everywhere",
        "set_global_seeds",
        "init_seeds",
        "reset_seeds",
        "initialize_seed",
    }
)


def _seed_one(stream: str) -> Handler:
    def handler(call: Call) -> Thing:
        value = call.argument(0, "a" if stream == PYTHON else "seed")
        value = value if value is not None else call.argument(0, "state")
        if value is None and call.open:
            value = plain(call.spread)
        call.world.seed(stream, call.frame, call.node, value)
        return plain()

    return handler


def seed_all(call: Call) -> Thing:
    value = call.argument(0, "seed")
    for stream in STREAMS:
        call.world.seed(stream, call.frame, call.node, value if value is not None else plain(call.spread))
    return plain()


def _pin(call: Call) -> Thing:
    seed_all(call)
    return op_determinism(call)


def op_determinism(call: Call) -> Thing:
    call.world.op_determinism = call.world.site(call.frame, call.node)
    return plain()


def looks_like_seeding(path: str) -> bool:
    """Whether a function that cannot be looked into is one that seeds, by its name."""
    return last(path).lower() in _SEED_NAMES


# -- draws from the global streams --------------------------------------------------------------------


def host_code(call: Call, stream: str) -> str:
    """The code of an unseeded draw: inside a function that tf.data calls on the host it is TW204."""
    inside_host = any(collector.kind == "host" for collector in call.world.collectors)
    return "TW204" if inside_host else _CODES[stream]


def _python(call: Call) -> Thing | None:
    name = call.path.removeprefix("random.")
    if name in ("getstate", "Random", "SystemRandom") or "." in name:
        return None
    return _host_draw(call, PYTHON, name)


def _numpy(call: Call) -> Thing | None:
    name = call.path.removeprefix("numpy.random.")
    if name in ("get_state", "get_bit_generator", "set_bit_generator") or "." in name or name[:1].isupper():
        return None
    return _host_draw(call, NUMPY, name)


def _host_draw(call: Call, stream: str, name: str) -> Thing:
    rearranges = name == "shuffle"
    marks = call.world.draw(
        stream,
        host_code(call, stream),
        call.frame,
        call.node,
        kind="host",
        mode=ORDER if rearranges else VALUE,
    )
    return _drawn(call, name, marks, rearranges)


def _drawn(call: Call, name: str, marks: Marks, rearranges: bool) -> Thing:
    if rearranges and call.args:
        disorder(call.args[0], marks | call.world.control)
        return Thing(constant=None)
    picks = name in ("choice", "choices", "sample", "permutation", "permuted", "shuffle")
    source = total(call.args[0]) if call.args else NONE
    made = plain(marks | as_value(source if picks else call.marks), numeric=not picks)
    if picks and call.args:
        made.numeric = call.args[0].numeric
    return made


_TF_NOT_DRAWS = frozenset({"set_seed", "create_rng_state", "fold_in", "split", "index_shuffle", "Algorithm"})
_SEED_POSITION = {"shuffle": 1, "uniform": 4, "normal": 4, "truncated_normal": 4, "categorical": 3}


def _tensorflow(call: Call) -> Thing | None:
    name = call.path.removeprefix("tensorflow.random.")
    if name.startswith("stateless_") or name in _TF_NOT_DRAWS or "." in name or name[:1].isupper():
        return None
    return tensorflow_draw(call, _SEED_POSITION.get(name))


def tensorflow_draw(call: Call, seed_position: int | None, code: str = "TW104") -> Thing:
    """A stateful TensorFlow op: seeded by its own seed argument or by the global seed."""
    world = call.world
    mode = ORDER if last(call.path) == "shuffle" else VALUE
    if call.given(seed_position, "seed"):
        seed = call.argument(seed_position, "seed")
        marks = frozenset((origin, mode) for origin, _ in total(seed)) if seed is not None else NONE
        world.collect("op", call.frame, call.node, 0)
    else:
        marks = world.draw(TENSORFLOW, code, call.frame, call.node, kind="op", mode=mode)
    return Thing("object", marks | call.marks, path="tensorflow.Tensor", numeric=True)


def _tensorflow_image(call: Call) -> Thing | None:
    if not last(call.path).startswith("random_"):
        return None
    return tensorflow_draw(call, None)


def _tensorflow_op(call: Call) -> Thing:
    return tensorflow_draw(call, None)


# -- generators ---------------------------------------------------------------------------------------


def _generator(kind: str, seed_name: str = "seed") -> Handler:
    def handler(call: Call) -> Thing:
        return make_generator(call, kind, call.argument(0, seed_name))

    return handler


def make_generator(call: Call, kind: str, seed: Thing | None, code: str = "TW103") -> Thing:
    """A generator object; without a seed it is an origin of its own."""
    marks: Marks = call.spread
    if (seed is None and not call.open) or (seed is not None and seed.constant is None):
        marks = frozenset({(call.world.origin(code, call.frame, call.node), VALUE)})
    elif seed is not None:
        marks = as_value(total(seed))
    return Thing("object", marks, path=kind, born=call.world.tick())


def _from_entropy(call: Call) -> Thing:
    """`tf.random.Generator.from_non_deterministic_state()`."""
    origin = call.world.origin("TW103", call.frame, call.node)
    marks = frozenset({(origin, VALUE)})
    return Thing("object", marks, path="tensorflow.random.Generator", born=call.world.tick())


def _seeded_always(kind: str) -> Handler:
    def handler(call: Call) -> Thing:
        return Thing("object", as_value(call.marks), path=kind, born=call.world.tick())

    return handler


def _global_tf_generator(call: Call) -> Thing:
    known = call.world.global_generator
    return known if known is not None else _from_entropy(call)


def _set_global_tf_generator(call: Call) -> Thing:
    call.world.global_generator = call.argument(0, "generator")
    return plain()


_STATE_METHODS = frozenset(
    {"get_state", "getstate", "bit_generator", "spawn", "reset", "make_seeds", "split"}
)


def host_generator_method(call: Call) -> Thing:
    """A method of `numpy.random.Generator`, `RandomState` or `random.Random`."""
    receiver = call.receiver or plain()
    name = call.path
    if name in ("seed", "set_state", "setstate"):
        receiver.marks = as_value(call.marks)
        return plain()
    if name in _STATE_METHODS:
        return Thing("list", element=receiver.copied())
    call.world.collect("host", call.frame, call.node, receiver.born or 1)
    rearranges = name == "shuffle"
    marks = frozenset((origin, ORDER if rearranges else VALUE) for origin, _ in receiver.marks)
    return _drawn(call, name, marks, rearranges)


def tf_generator_method(call: Call) -> Thing:
    """A method of `tf.random.Generator`."""
    receiver = call.receiver or plain()
    if call.path == "reset_from_seed":
        receiver.marks = as_value(call.marks)
        return plain()
    if call.path == "split":
        return Thing("list", element=receiver.copied())
    call.world.collect("generator", call.frame, call.node, receiver.born or 1)
    return Thing("object", receiver.marks | call.marks, path="tensorflow.Tensor", numeric=True)


def _generator_over(call: Call) -> Thing:
    """`np.random.Generator(bit_generator)`."""
    inner = join(call.args) if call.args else plain()
    return Thing("object", total(inner), path="numpy.random.Generator", born=call.world.tick())


_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")

FUNCTIONS: dict[str, Handler] = {
    "random.seed": _seed_one(PYTHON),
    "numpy.random.seed": _seed_one(NUMPY),
    "tensorflow.random.set_seed": _seed_one(TENSORFLOW),
    "random.setstate": _seed_one(PYTHON),
    "numpy.random.set_state": _seed_one(NUMPY),
    "keras.utils.set_random_seed": seed_all,
    "twinrun.pin": _pin,
    "twinrun.pinned": _pin,
    "twinrun.twin.pin.pin": _pin,
    "twinrun.twin.pin.pinned": _pin,
    "tensorflow.config.experimental.enable_op_determinism": op_determinism,
    "numpy.random.default_rng": _generator("numpy.random.Generator"),
    "numpy.random.RandomState": _generator("numpy.random.RandomState"),
    "random.Random": _generator("random.Random", "x"),
    "numpy.random.SeedSequence": _generator("numpy.random.SeedSequence", "entropy"),
    **{f"numpy.random.{name}": _generator("numpy.random.BitGenerator") for name in _BIT_GENERATORS},
    "numpy.random.Generator": _generator_over,
    "tensorflow.random.Generator.from_non_deterministic_state": _from_entropy,
    "tensorflow.random.Generator.from_seed": _seeded_always("tensorflow.random.Generator"),
    "tensorflow.random.Generator.from_state": _seeded_always("tensorflow.random.Generator"),
    "tensorflow.random.Generator.from_key_counter": _seeded_always("tensorflow.random.Generator"),
    "tensorflow.random.get_global_generator": _global_tf_generator,
    "tensorflow.random.set_global_generator": _set_global_tf_generator,
    "tensorflow.nn.dropout": _tensorflow_op,
    "tensorflow.image.sample_distorted_bounding_box": _tensorflow_op,
    "tensorflow.random_normal_initializer": _tensorflow_op,
    "tensorflow.random_uniform_initializer": _tensorflow_op,
}

PREFIXES: tuple[tuple[str, Handler], ...] = (
    ("random.", _python),
    ("numpy.random.", _numpy),
    ("tensorflow.random.", _tensorflow),
    ("tensorflow.image.", _tensorflow_image),
)

TYPES: dict[str, Handler] = {
    "numpy.random.Generator": host_generator_method,
    "numpy.random.RandomState": host_generator_method,
    "numpy.random.SeedSequence": lambda call: Thing("list", element=(call.receiver or plain()).copied()),
    "random.Random": host_generator_method,
    "tensorflow.random.Generator": tf_generator_method,
}
