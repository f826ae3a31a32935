"""Other libraries that shuffle and split data with NumPy's stream when given no seed (TW102)."""

from __future__ import annotations

from twinrun.audit.call import Call, Handler
from twinrun.audit.marks import NONE, ORDER, VALUE, Marks, as_value
from twinrun.audit.names import last, root
from twinrun.audit.randomness import host_code
from twinrun.audit.values import Thing, plain, total
from twinrun.audit.world import NUMPY


def _numpy_backed(call: Call, seed_name: str, mode: str = VALUE, code: str | None = None) -> Marks:
    """The marks of a result that depends on a seed argument, or else on NumPy's global stream."""
    if call.given(None, seed_name):
        seed = call.argument(None, seed_name)
        return as_value(total(seed)) if seed is not None else NONE
    drawn = code or host_code(call, NUMPY)
    return call.world.draw(NUMPY, drawn, call.frame, call.node, kind="host", mode=mode)


def _split(call: Call) -> Thing:
    """`sklearn.model_selection.train_test_split`."""
    shuffle = call.argument(None, "shuffle")
    marks = NONE if shuffle is not None and shuffle.constant is False else _numpy_backed(call, "random_state")
    items: list[Thing] = []
    for given in call.args:
        for _ in range(2):
            part = plain(total(given) | marks, numeric=given.numeric)
            if given.kind == "object":
                part = Thing("object", total(given) | marks, path=given.path, numeric=given.numeric)
            items.append(part)
    return Thing("list", items=items) if items and not call.open else Thing("list", marks | call.marks)


def _rearranged(call: Call) -> Thing:
    """`sklearn.utils.shuffle` and `resample`."""
    marks = _numpy_backed(call, "random_state", ORDER if last(call.path) == "shuffle" else VALUE)
    items = [plain(total(given) | marks, numeric=given.numeric) for given in call.args]
    return items[0] if len(items) == 1 else Thing("list", items=items)


def _folds(call: Call) -> Thing:
    """`KFold(shuffle=True)` and kin; a `ShuffleSplit` always shuffles."""
    shuffle = call.argument(1, "shuffle")
    shuffled = "Shuffle" in last(call.path) or (shuffle is not None and shuffle.constant is True)
    return Thing("object", _numpy_backed(call, "random_state") if shuffled else NONE, path=call.path)


def _made(call: Call) -> Thing | None:
    """`sklearn.datasets.make_blobs(…)` and kin."""
    if not last(call.path).startswith("make_"):
        return None
    marks = _numpy_backed(call, "random_state")
    pair = [Thing("object", marks, path="numpy.ndarray", numeric=True) for _ in range(2)]
    return Thing("tuple", items=pair)


def _sampled(call: Call) -> Thing | None:
    """`df.sample(frac=1)` of pandas."""
    receiver = call.receiver
    if receiver is None or root(receiver.path) != "pandas":
        return None
    return Thing("object", total(receiver) | _numpy_backed(call, "random_state"), path=receiver.path)


def _variates(call: Call) -> Thing | None:
    """`scipy.stats.norm.rvs(…)`."""
    if not call.path.endswith(".rvs"):
        return None
    return plain(_numpy_backed(call, "random_state") | call.marks, numeric=True)


def _hub_shuffle(call: Call) -> Thing | None:
    """`.shuffle()` and `.train_test_split()` of the `datasets` library."""
    receiver = call.receiver
    if receiver is None or root(receiver.path) != "datasets":
        return None
    marks = total(receiver) | _numpy_backed(call, "seed", ORDER, "TW201")
    return Thing("object", marks, path=receiver.path)


def _image_flow(call: Call) -> Thing | None:
    """`ImageDataGenerator(…).flow(…)`: shuffles and augments with NumPy's stream."""
    receiver = call.receiver
    if receiver is None or not receiver.path.startswith("keras.preprocessing.image.ImageDataGenerator"):
        return None
    marks = call.marks | total(receiver)
    shuffle = call.argument(None, "shuffle")
    if shuffle is None or shuffle.constant is not False:
        marks |= _numpy_backed(call, "seed", ORDER, "TW201")
    return Thing("generator", marks, path="keras.preprocessing.image.Iterator")


FUNCTIONS: dict[str, Handler] = {
    "sklearn.model_selection.train_test_split": _split,
    "sklearn.utils.shuffle": _rearranged,
    "sklearn.utils.resample": _rearranged,
    **{
        f"sklearn.model_selection.{name}": _folds
        for name in (
            "KFold",
            "StratifiedKFold",
            "ShuffleSplit",
            "StratifiedShuffleSplit",
            "GroupShuffleSplit",
        )
    },
}

PREFIXES: tuple[tuple[str, Handler], ...] = (("sklearn.datasets.", _made), ("scipy.stats.", _variates))

METHODS: dict[str, Handler] = {
    "sample": _sampled,
    "shuffle": _hub_shuffle,
    "train_test_split": _hub_shuffle,
    "flow": _image_flow,
    "flow_from_directory": _image_flow,
    "flow_from_dataframe": _image_flow,
}
