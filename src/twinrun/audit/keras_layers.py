"""Keras: layers, initialisers and `keras.random` that draw when nobody gave them a seed (TW105).

Keras takes a default seed from Python's `random` at the moment the layer or initialiser is made, so that
stream is the one that counts, whatever else is seeded. (Seen in Keras 3.15 and tf_keras 2.21.)
"""

from __future__ import annotations

import ast

from twinrun.audit import calls
from twinrun.audit.call import Call, Handler
from twinrun.audit.marks import NONE, VALUE, Marks, as_value
from twinrun.audit.names import last
from twinrun.audit.values import Thing, join, parts, plain, total
from twinrun.audit.world import PYTHON

_KERNEL = ("kernel_initializer",)
_RECURRENT = ("kernel_initializer", "recurrent_initializer")
_SEPARABLE = ("depthwise_initializer", "pointwise_initializer")

# Layers whose weights start from a random initialiser, and the arguments that name it.
_INITIALISED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("Dense", "EinsumDense", "MultiHeadAttention", "GroupedQueryAttention"), _KERNEL),
    **{f"{name}{n}D{kind}": _KERNEL for name in ("Conv", "Convolution") for n in (1, 2, 3) for kind in ("",)},
    **{f"Conv{n}DTranspose": _KERNEL for n in (1, 2, 3)},
    **{f"SeparableConv{n}D": _SEPARABLE for n in (1, 2)},
    **{f"DepthwiseConv{n}D": ("depthwise_initializer",) for n in (1, 2)},
    **dict.fromkeys(
        ("LSTM", "GRU", "SimpleRNN", "LSTMCell", "GRUCell", "SimpleRNNCell", "CuDNNLSTM", "CuDNNGRU"),
        _RECURRENT,
    ),
    **{f"ConvLSTM{n}D": _RECURRENT for n in (1, 2, 3)},
    "Embedding": ("embeddings_initializer",),
    "ReversibleEmbedding": ("embeddings_initializer",),
}

_DROPOUT = frozenset(
    {"Dropout", "AlphaDropout", "GaussianDropout", "GaussianNoise"}
    | {f"SpatialDropout{n}D" for n in (1, 2, 3)}
)
_AUGMENTING = frozenset({"RandAugment", "MixUp", "CutMix", "AugMix"})
_FIXED_INITIALISERS = frozenset({"zeros", "ones", "zero", "one", "constant", "identity", "stft"})
# Random initialisers, and the position of the seed among their arguments.
_RANDOM_INITIALISERS = {
    **dict.fromkeys(
        ("GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform", "LecunNormal", "LecunUniform"), 0
    ),
    **dict.fromkeys(("glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal"), 0),
    **dict.fromkeys(("Orthogonal", "OrthogonalInitializer", "orthogonal"), 1),
    **dict.fromkeys(("RandomNormal", "RandomUniform", "TruncatedNormal"), 2),
    **dict.fromkeys(("random_normal", "random_uniform", "truncated_normal"), 2),
    **dict.fromkeys(("VarianceScaling", "variance_scaling"), 3),
}
_NOT_DATA = frozenset({"name", "dtype", "trainable", "activation"})


def is_random_layer(path: str) -> bool:
    """Whether a layer of this path draws each time it is called."""
    name = last(path)
    return path.startswith("keras.layers.") and (
        name in _DROPOUT or name in _AUGMENTING or name.startswith("Random")
    )


def _layer(call: Call) -> Thing:
    name = last(call.path)
    explicit = call.spread.union(
        *(total(value) for value in call.args),
        *(total(value) for key, value in call.keywords.items() if key not in _NOT_DATA),
    )
    call.reach(frozenset(mark for mark in explicit if mark[0].code != "TW105"), f"the layer {name}")
    marks = explicit | calls.enter_escaping(call, call.args)  # Lambda(f)
    initialised = any(_draws_initialiser(call, key) for key in _INITIALISED.get(name, ()))
    if initialised or (_takes_a_seed(call, name) and not call.given(None, "seed")):
        marks |= keras_draw(call)
    made = Thing("object", marks, path=call.path, born=call.world.tick())
    if call.args:  # a wrapper (Bidirectional, TimeDistributed) or a list of layers
        made.element = join(call.args)
    return made


def _takes_a_seed(call: Call, name: str) -> bool:
    """Whether this layer makes a seed of its own, now."""
    if name in _DROPOUT:
        rate = call.argument(0, "stddev" if name == "GaussianNoise" else "rate")
        return rate is None or rate.constant not in (0, 0.0)
    if name in _INITIALISED or name in ("Attention", "AdditiveAttention"):
        return any(
            value.constant not in (0, 0.0) for key, value in call.keywords.items() if key.endswith("dropout")
        )
    return is_random_layer(call.path)


def _draws_initialiser(call: Call, key: str) -> bool:
    given = call.keywords.get(key)
    if given is None:
        return not call.open
    return isinstance(given.constant, str) and given.constant.lower() not in _FIXED_INITIALISERS


def keras_draw(call: Call) -> Marks:
    """Keras makes up a seed here, from Python's stream."""
    return call.world.draw(PYTHON, "TW105", call.frame, call.node, kind="seed")


def _initialiser(call: Call) -> Thing | None:
    name = last(call.path)
    if name == "get":
        wanted = call.args[0] if call.args else plain()
        if isinstance(wanted.constant, str) and wanted.constant.lower() not in _FIXED_INITIALISERS:
            return Thing("object", keras_draw(call), path="keras.initializers.get")
        return wanted
    position = _RANDOM_INITIALISERS.get(name)
    if position is None:
        return None
    seed = call.argument(position, "seed")
    marks = as_value(total(seed)) if seed is not None and seed.constant is not None else NONE
    if not call.given(position, "seed"):
        marks = keras_draw(call)
    return Thing("object", marks, path=call.path, born=call.world.tick())


def _seed_generator(call: Call) -> Thing:
    seed = call.argument(0, "seed")
    if seed is not None and seed.constant is not None:
        return Thing("object", as_value(total(seed)), path=call.path, born=call.world.tick())
    marks = NONE if call.open else keras_draw(call)
    return Thing("object", marks, path=call.path, born=call.world.tick())


def _keras_random(call: Call) -> Thing | None:
    """`keras.random.normal(…)`: without a seed it draws from a generator that Keras seeds for itself."""
    if last(call.path) == "SeedGenerator":
        return _seed_generator(call)
    seed = call.argument(None, "seed")
    marks = call.marks
    if seed is None and not call.open:
        marks |= call.world.draw(PYTHON, "TW105", call.frame, call.node, kind="keras")
    elif seed is not None and seed.path == "keras.random.SeedGenerator":
        call.world.collect("keras", call.frame, call.node, seed.born)
    return Thing("object", marks, path="keras.KerasTensor", numeric=True)


def _application(call: Call) -> Thing | None:
    """`keras.applications.X(weights=None)` starts from random weights; with weights given it loads them."""
    weights = call.argument(None, "weights")
    marks = keras_draw(call) if weights is not None and weights.constant is None else NONE
    return Thing("object", marks, path="keras.Model", born=call.world.tick())


def _model(call: Call) -> Thing:
    made = Thing("object", call.spread, path=call.path, born=call.world.tick())
    data = [*call.args, *(value for key, value in call.keywords.items() if key != "name")]
    if data:
        made.element = join(data)
    return made


def _optimizer(call: Call) -> Thing | None:
    name = last(call.path)
    if not name[:1].isupper() or call.path.count(".") > 3:
        return None
    marks = call.spread.union(*(total(value) for value in call.args), *_without_name(call))
    call.reach(marks, f"the optimizer {name}")
    return Thing("object", marks, path=call.path)


def _without_name(call: Call) -> list[Marks]:
    return [total(value) for key, value in call.keywords.items() if key != "name"]


def _schedule_callback(call: Call) -> Thing:
    """Callbacks that set the learning rate: what they are given reaches training."""
    marks = call.marks | calls.enter_escaping(call, call.everything)
    call.reach(marks, "the learning rate")
    return Thing("object", marks, path=call.path)


def _callback(call: Call) -> Thing:
    """Other callbacks write, stop and log: their arguments (a run's name, a folder) train nothing."""
    calls.enter_escaping(call, call.everything)
    return Thing("object", path=call.path)


def call_layer(call: Call) -> Thing:
    """A Keras layer or model is called on data."""
    receiver = call.receiver or plain()
    marks = total(receiver) | call.marks
    for part in parts(receiver):
        if is_random_layer(part.path):
            call.world.collect("keras", call.frame, call.node, part.born or 1)
            break
    return Thing("object", marks, path="keras.KerasTensor", numeric=True)


def add_layer(call: Call) -> Thing | None:
    """`model.add(layer)`."""
    receiver = call.receiver
    if receiver is None or not receiver.path.startswith("keras."):
        return None
    for each in receiver.each():
        added = join(call.args) if call.args else plain()
        each.element = added if each.element is None else join((each.element, added))
    return plain()


def add_weight(call: Call) -> Thing | None:
    """`self.add_weight(…)` in a layer: without an initialiser the weights are random."""
    if call.receiver is None or call.receiver.kind not in ("instance", "plain", "object", "super"):
        return None
    given = call.keywords.get("initializer")
    draws = given is None and not call.open
    if given is not None and isinstance(given.constant, str):
        draws = given.constant.lower() not in _FIXED_INITIALISERS
    marks = call.marks | (keras_draw(call) if draws else NONE)
    return Thing("object", marks, path="keras.Variable")


def _variable(call: Call) -> Thing:
    marks = call.marks | calls.enter_escaping(call, call.everything)
    call.reach(marks, "a variable")
    return Thing("object", marks, path=call.path, numeric=True)


def compiled(call: Call) -> Thing | None:
    """`model.compile(loss=f)`: the model depends on what its loss and its optimizer do."""
    receiver = call.receiver
    if receiver is None or not (is_keras(receiver) or receiver.kind == "plain"):
        return None
    receiver.mark(call.marks | calls.enter_escaping(call, call.everything))
    return plain()


def _load_data(call: Call) -> Thing:
    """`keras.datasets.x.load_data()`: arrays of numbers, the same in every run."""
    pair = [Thing("object", path="numpy.ndarray", numeric=True) for _ in range(4)]
    return Thing("tuple", items=[Thing("tuple", items=pair[:2]), Thing("tuple", items=pair[2:])])


def _datasets(call: Call) -> Thing | None:
    return _load_data(call) if last(call.path) == "load_data" else None


def is_keras(thing: Thing) -> bool:
    """Whether a value is a Keras object, or an instance of a class of the program that derives from one."""
    if thing.kind == "instance":
        return bool(thing.ref.derives_from("keras."))
    return thing.kind == "object" and thing.path.startswith("keras.")


def gradient(call: Call) -> Thing | None:
    """`tape.gradient(loss, variables)`: depends on all that the loss does."""
    if not isinstance(call.node.func, ast.Attribute):
        return None
    marks = call.marks | (total(call.receiver) if call.receiver is not None else NONE)
    return Thing("list", element=plain(frozenset((o, VALUE) for o, _ in marks)))


FUNCTIONS: dict[str, Handler] = {
    "keras.Sequential": _model,
    "keras.Model": _model,
    "keras.Input": lambda call: Thing("object", path="keras.KerasTensor"),
    "keras.layers.InputLayer": lambda call: Thing("object", path="keras.KerasTensor"),
    "keras.Variable": _variable,
    "tensorflow.Variable": _variable,
    "keras.callbacks.LearningRateScheduler": _schedule_callback,
}

PREFIXES: tuple[tuple[str, Handler], ...] = (
    ("keras.layers.", _layer),
    ("keras.initializers.", _initialiser),
    ("keras.random.", _keras_random),
    ("keras.backend.random_", _keras_random),
    ("keras.applications.", _application),
    ("keras.optimizers.", _optimizer),
    ("keras.callbacks.", _callback),
    ("keras.datasets.", _datasets),
)

METHODS: dict[str, Handler] = {
    "add": add_layer,
    "add_weight": add_weight,
    "compile": compiled,
    "add_variable": add_weight,
    "gradient": gradient,
}
