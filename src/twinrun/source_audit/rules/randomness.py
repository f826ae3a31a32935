"""Randomness: seeds, global streams, and generator objects of Python, NumPy and TensorFlow; other libraries that
shuffle, split and sample with NumPy's stream when given no seed.

A draw from an unseeded global stream is an origin (TW101, TW102, TW104); so is a generator made without a
seed (TW103). A draw from a stream that was seeded with something that varies carries the marks of its seed.
"""

from __future__ import annotations

from twinrun.knowledge.functions import NUMPY, PYTHON, STREAMS, Kind, Known, known_method, last, root
from twinrun.source_audit.abstract_values import Value, join, plain, total
from twinrun.source_audit.containers import disorder
from twinrun.source_audit.marks import NONE, ORDER, VALUE, Marks, as_value, with_mode
from twinrun.source_audit.outgoing_call import Call, Handler

_CODES = {PYTHON: "TW101", NUMPY: "TW102"}
# Draws whose result is made of the elements they are given.
_PICKS = frozenset({"choice", "choices", "sample", "permutation", "permuted", "shuffle"})
_STATE_METHODS = frozenset(
    {"get_state", "getstate", "bit_generator", "spawn", "reset", "make_seeds", "split"}
)


# -- seeds --------------------------------------------------------------------------------------------


def _seed(call: Call) -> Value:
    function = call.known
    if len(function.streams) > 1:
        if root(call.path) == "twinrun":  # twinrun.pin
            op_determinism(call)
        return seed_all(call)
    assert function.seed is not None
    value = call.argument(0, function.seed.name)
    if value is None and call.open:
        value = plain(call.spread)
    call.seed(function.streams[0], value)
    return plain()


def seed_all(call: Call) -> Value:
    value = call.argument(0, "seed") or plain(call.spread)
    for stream in STREAMS:
        call.seed(stream, value)
    return plain()


def op_determinism(call: Call) -> Value:
    call.state.op_determinism = call.frame.site(call.node)
    return plain()


# -- draws from the global streams --------------------------------------------------------------------


def _host_code(call: Call, stream: str) -> str:
    """The code of an unseeded draw: inside a function that tf.data calls on the host it is TW204."""
    inside_host = any(collector.kind == "host" for collector in call.state.collectors)
    return "TW204" if inside_host else _CODES[stream]


def _host_draw(call: Call) -> Value:
    stream = call.known.streams[0]
    return _drawn(call, call.draw(stream, _host_code(call, stream), kind="host", mode=_mode(call)))


def _mode(call: Call) -> str:
    return ORDER if last(call.path) == "shuffle" else VALUE


def _drawn(call: Call, marks: Marks) -> Value:
    name = last(call.path)
    if name == "shuffle" and call.args:
        disorder(call.first, marks | call.state.control)
        return Value(constant=None)
    picks = name in _PICKS
    source = total(call.first) if picks else call.marks
    numeric = call.first.numeric if picks and call.args else not picks
    return plain(marks | as_value(source), numeric=numeric)


def _tensorflow_draw(call: Call) -> Value:
    """A stateful TensorFlow op: seeded by its own seed argument or by the global seed."""
    function = call.known
    assert function.seed is not None
    marks = call.seeded_draw(function, "TW104", kind="op", mode=_mode(call))
    if call.given(function.seed.position, "seed"):
        call.collect("op", 0)
    return Value("object", marks | call.marks, path="tensorflow.Tensor", numeric=True)


# -- generators ---------------------------------------------------------------------------------------


def _generator(call: Call) -> Value:
    """A generator object; without a seed it is an origin of its own."""
    function = call.known
    seed = None if function.seed is None else call.argument(function.seed.position, function.seed.name)
    unseeded = not call.open if seed is None else seed.constant is None
    if function.makes == "tensorflow.random.Generator":
        marks = as_value(call.marks) if function.seed is not None else call.varies("TW103")
    elif unseeded:  # Keras makes up a seed; the others take one from the operating system
        marks = call.draw(PYTHON, "TW105", kind="seed") if function.stream else call.varies("TW103")
    else:
        marks = as_value(total(seed)) if seed is not None else call.spread
    return Value("object", marks, path=function.makes, created=call.state.tick())


def _global_tf_generator(call: Call) -> Value:
    made = call.state.global_generator
    path = "tensorflow.random.Generator"
    return made or Value("object", call.varies("TW103"), path=path, created=call.state.tick())


def _set_global_tf_generator(call: Call) -> Value:
    call.state.global_generator = call.argument(0, "generator")
    return plain()


def _generator_over(call: Call) -> Value:
    """`np.random.Generator(bit_generator)`."""
    marks = total(join(call.args))
    return Value("object", marks, path="numpy.random.Generator", created=call.state.tick())


def _generator_method(call: Call) -> Value:
    """A method of `numpy.random.Generator`, `RandomState` or `random.Random`."""
    receiver = call.receiver
    if call.path in ("seed", "set_state", "setstate"):
        receiver.marks = as_value(call.marks)
        return plain()
    if call.path in _STATE_METHODS:
        return Value("list", element=receiver.copied())
    call.collect("host", receiver.created or 1)
    return _drawn(call, with_mode(receiver.marks, _mode(call)))


def _tf_generator_method(call: Call) -> Value:
    """A method of `tf.random.Generator`."""
    receiver = call.receiver
    if call.path == "reset_from_seed":
        receiver.marks = as_value(call.marks)
        return plain()
    if call.path == "split":
        return Value("list", element=receiver.copied())
    call.collect("generator", receiver.created or 1)
    return Value("object", receiver.marks | call.marks, path="tensorflow.Tensor", numeric=True)


# -- other libraries ----------------------------------------------------------------------------------


def _library_draw(call: Call, function: Known, mode: str = VALUE, code: str | None = None) -> Marks:
    """The marks of a result that depends on a seed, or else on NumPy's stream; none when shuffling is off."""
    if not call.switched_on(function.switch):
        return NONE
    return call.seeded_draw(function, code or _host_code(call, NUMPY), kind="host", mode=mode)


def _split(call: Call) -> Value:
    """`sklearn.model_selection.train_test_split`."""
    marks = _library_draw(call, call.known)
    if not call.args or call.open:
        return Value("list", marks | call.marks)
    items = []
    for given in call.args:
        kind, path = ("object", given.path) if given.kind == "object" else ("plain", "")
        items += [Value(kind, total(given) | marks, path=path, numeric=given.numeric) for _ in range(2)]
    return Value("list", items=items)


def _rearranged(call: Call) -> Value:
    """`sklearn.utils.shuffle` and `resample`; folds (`KFold`), which are objects."""
    if last(call.path)[0].isupper():
        return Value("object", _library_draw(call, call.known), path=call.path)
    marks = _library_draw(call, call.known, _mode(call))
    items = [plain(total(given) | marks, numeric=given.numeric) for given in call.args]
    return items[0] if len(items) == 1 else Value("list", items=items)


def _made(call: Call) -> Value:
    """`sklearn.datasets.make_blobs(…)` and the like."""
    marks = _library_draw(call, call.known)
    pair = [Value("object", marks, path="numpy.ndarray", numeric=True) for _ in range(2)]
    return Value("tuple", items=pair)


def _variates(call: Call) -> Value:
    """`scipy.stats.norm.rvs(…)`."""
    return plain(_library_draw(call, call.known) | call.marks, numeric=True)


def _method(call: Call) -> Value | None:
    """`df.sample(frac=1)` of pandas; `.shuffle()` of the `datasets` library; `ImageDataGenerator(…).flow(…)`."""
    receiver = call.receiver
    is_images = receiver.path.startswith("keras.preprocessing.image.ImageDataGenerator")
    function = known_method(
        call.path, "keras.preprocessing.image.ImageDataGenerator" if is_images else receiver.path
    )
    if function is None or function.kind is not Kind.SHUFFLE:
        return None
    if call.path == "sample":
        return Value("object", total(receiver) | _library_draw(call, function), path=receiver.path)
    marks = total(receiver) | _library_draw(call, function, ORDER, "TW201")
    if is_images:
        return Value("generator", marks | call.marks, path="keras.preprocessing.image.Iterator")
    return Value("object", marks, path=receiver.path)


KINDS: dict[tuple[Kind, str], Handler] = {
    (Kind.SEED, ""): _seed,
    (Kind.DETERMINISM, ""): op_determinism,
    (Kind.DRAW, ""): _host_draw,
    (Kind.DRAW, "tensorflow"): _tensorflow_draw,
    (Kind.GENERATOR, ""): _generator,
    (Kind.SHUFFLE, "sklearn"): _rearranged,
    (Kind.DRAW, "sklearn"): _made,
    (Kind.DRAW, "scipy"): _variates,
}
FUNCTIONS: dict[str, Handler] = {
    "numpy.random.Generator": _generator_over,
    "tensorflow.random.get_global_generator": _global_tf_generator,
    "tensorflow.random.set_global_generator": _set_global_tf_generator,
    "sklearn.model_selection.train_test_split": _split,
}
TYPES: dict[str, Handler] = {
    "numpy.random.Generator": _generator_method,
    "numpy.random.RandomState": _generator_method,
    "numpy.random.SeedSequence": lambda call: Value("list", element=call.receiver.copied()),
    "random.Random": _generator_method,
    "tensorflow.random.Generator": _tf_generator_method,
}
METHODS: dict[str, Handler] = dict.fromkeys(
    ("sample", "shuffle", "train_test_split", "flow", "flow_from_directory", "flow_from_dataframe"), _method
)
