"""Keras: layers, initializers and `keras.random` that draw when nobody gave them a seed (TW105).

Keras takes a default seed from Python's `random` at the moment the layer or initializer is made, so that
stream is the one that counts, whatever else is seeded. (Tested with Keras 3.15 and tf_keras 2.21.)
"""

from __future__ import annotations

import ast

from twinrun.knowledge.functions import PYTHON, Argument, Kind, Known, known, last
from twinrun.source_audit.abstract_values import Value, join, parts, plain, total
from twinrun.source_audit.marks import NONE, Marks, as_value
from twinrun.source_audit.outgoing_call import Call, Handler

_FIXED_INITIALIZERS = frozenset({"zeros", "ones", "zero", "one", "constant", "identity", "stft"})
_NOT_DATA = frozenset({"name", "dtype", "trainable", "activation"})
_TENSOR = "keras.KerasTensor"


def _layer(call: Call) -> Value:
    layer = known(call.path) or Known(Kind.LAYER)
    data = [value for key, value in call.keywords.items() if key not in _NOT_DATA]
    explicit = call.spread.union(*(total(value) for value in (*call.args, *data)))
    seedless = frozenset(mark for mark in explicit if mark[0].code != "TW105")
    call.reach(seedless, f"the layer {last(call.path)}")
    seed = layer.seed or Argument(None)
    marks = explicit | call.escaping(call.args)  # Lambda(f)
    initialized = any(_random_initializer(call, key) for key in layer.initializers)
    if initialized or (_takes_a_seed(call, layer) and not call.given(seed.position, "seed")):
        marks |= _draw(call)
    made = Value("object", marks, path=call.path, created=call.state.tick())
    if call.args:  # a wrapper (Bidirectional, TimeDistributed) or a list of layers
        made.element = join(call.args)
    return made


def _takes_a_seed(call: Call, layer: Known) -> bool:
    """Whether this layer makes a seed of its own, now."""
    if layer.draws_when_called:
        return not layer.rate or call.constant(0, layer.rate) not in (0, 0.0)
    rates = [value.constant for key, value in call.keywords.items() if key.endswith("dropout")]
    return layer.kind is Kind.LAYER and bool(layer.streams) and any(rate not in (0, 0.0) for rate in rates)


def _random_initializer(call: Call, key: str) -> bool:
    """Whether an initializer is random: it is by default, and when it is named by one of the random ones."""
    given = call.keywords.get(key)
    return not call.open if given is None else _names_a_random_initializer(given)


def _names_a_random_initializer(value: Value) -> bool:
    return isinstance(value.constant, str) and value.constant.lower() not in _FIXED_INITIALIZERS


def _draw(call: Call, kind: str = "seed") -> Marks:
    """Keras makes up a seed here, from Python's stream."""
    return call.draw(PYTHON, "TW105", kind=kind)


def _initializer(call: Call) -> Value | None:
    if last(call.path) == "get":
        if _names_a_random_initializer(call.first):
            return Value("object", _draw(call), path="keras.initializers.get")
        return call.first
    function = known(call.path)
    if function is None or function.seed is None:
        return None
    seed = call.argument(function.seed.position, "seed")
    marks = as_value(total(seed)) if seed is not None and seed.constant is not None else NONE
    if not call.given(function.seed.position, "seed"):
        marks = _draw(call)
    return Value("object", marks, path=call.path, created=call.state.tick())


def _keras_random(call: Call) -> Value:
    """`keras.random.normal(…)`: without a seed it draws from a generator that Keras seeds for itself."""
    seed = call.argument(None, "seed")
    marks = call.marks
    if seed is None and not call.open:
        marks |= _draw(call, "keras")
    elif seed is not None and seed.path == "keras.random.SeedGenerator":
        call.collect("keras", seed.created)
    return Value("object", marks, path=_TENSOR, numeric=True)


def _application(call: Call) -> Value:
    """`keras.applications.X(weights=None)` starts from random weights; with weights given it loads them."""
    marks = _draw(call) if call.constant(None, "weights", "imagenet") is None else NONE
    return Value("object", marks, path="keras.Model", created=call.state.tick())


def _model(call: Call) -> Value:
    made = Value("object", call.spread, path=call.path, created=call.state.tick())
    data = [*call.args, *(value for key, value in call.keywords.items() if key != "name")]
    if data:
        made.element = join(data)
    return made


def _optimizer(call: Call) -> Value | None:
    name = last(call.path)
    if not name[:1].isupper() or call.path.count(".") > 3:
        return None
    settings = [value for key, value in call.keywords.items() if key != "name"]
    marks = call.spread.union(*(total(value) for value in (*call.args, *settings)))
    call.reach(marks, f"the optimizer {name}")
    return Value("object", marks, path=call.path)


def _schedule_callback(call: Call) -> Value:
    """Callbacks that set the learning rate: what they are given reaches training."""
    marks = call.marks | call.escaping()
    call.reach(marks, "the learning rate")
    return Value("object", marks, path=call.path)


def _callback(call: Call) -> Value:
    """Other callbacks write, stop and log: their arguments (a run's name, a folder) train nothing."""
    call.escaping()
    return Value("object", path=call.path)


def call_layer(call: Call) -> Value:
    """A Keras layer or model is called on data."""
    for part in parts(call.receiver):
        layer = known(part.path)
        if layer is not None and layer.draws_when_called:
            call.collect("keras", part.created or 1)
            break
    return Value("object", total(call.receiver) | call.marks, path=_TENSOR, numeric=True)


def _add_layer(call: Call) -> Value | None:
    """`model.add(layer)`."""
    if not call.receiver.path.startswith("keras."):
        return None
    for each in call.receiver.each():
        each.add_element(join(call.args))
    return plain()


def _add_weight(call: Call) -> Value | None:
    """`self.add_weight(…)` in a layer: without an initializer the weights are random."""
    if call.receiver.kind not in ("instance", "plain", "object", "super"):
        return None
    marks = call.marks | (_draw(call) if _random_initializer(call, "initializer") else NONE)
    return Value("object", marks, path="keras.Variable")


def _variable(call: Call) -> Value:
    marks = call.marks | call.escaping()
    call.reach(marks, "a variable")
    return Value("object", marks, path=call.path, numeric=True)


def _compiled(call: Call) -> Value | None:
    """`model.compile(loss=f)`: the model depends on what its loss and its optimizer do."""
    if not (is_keras(call.receiver) or call.receiver.kind == "plain"):
        return None
    call.receiver.mark(call.marks | call.escaping())
    return plain()


def _load_data(call: Call) -> Value | None:
    """`keras.datasets.x.load_data()`: arrays of numbers, the same in every run."""
    if last(call.path) != "load_data":
        return None
    arrays = [Value("object", path="numpy.ndarray", numeric=True) for _ in range(4)]
    return Value("tuple", items=[Value("tuple", items=arrays[:2]), Value("tuple", items=arrays[2:])])


def is_keras(value: Value) -> bool:
    """Whether a value is a Keras object, or an instance of a class of the program that derives from one."""
    if value.kind == "instance":
        return bool(value.ref.derives_from("keras."))
    return value.kind == "object" and value.path.startswith("keras.")


def _gradient(call: Call) -> Value | None:
    """`tape.gradient(loss, variables)`: depends on all that the loss does."""
    if not isinstance(call.node.func, ast.Attribute):
        return None
    return Value("list", element=plain(as_value(call.marks | total(call.receiver))))


KINDS: dict[tuple[Kind, str], Handler] = {(Kind.DRAW, "keras"): _keras_random}
FUNCTIONS: dict[str, Handler] = {
    "keras.Sequential": _model,
    "keras.Model": _model,
    **dict.fromkeys(("keras.Input", "keras.layers.InputLayer"), lambda call: Value("object", path=_TENSOR)),
    "keras.Variable": _variable,
    "tensorflow.Variable": _variable,
    "keras.callbacks.LearningRateScheduler": _schedule_callback,
}
PREFIXES: tuple[tuple[str, Handler], ...] = (
    ("keras.layers.", _layer),
    ("keras.initializers.", _initializer),
    ("keras.applications.", _application),
    ("keras.optimizers.", _optimizer),
    ("keras.callbacks.", _callback),
    ("keras.datasets.", _load_data),
)
METHODS: dict[str, Handler] = {
    "add": _add_layer,
    "add_weight": _add_weight,
    "add_variable": _add_weight,
    "compile": _compiled,
    "gradient": _gradient,
}
