"""Other libraries that shuffle, split and sample with NumPy's stream when given no seed (TW102, TW201)."""

from __future__ import annotations

from twinrun.knowledge import NUMPY, Kind, Known, known_method, last
from twinrun.source_audit.abstract_values import Value, plain, total
from twinrun.source_audit.marks import NONE, ORDER, VALUE, Marks
from twinrun.source_audit.outgoing_call import Call, Handler
from twinrun.source_audit.rules.randomness import host_code


def _marks(call: Call, function: Known, mode: str = VALUE, code: str | None = None) -> Marks:
    """The marks of a result that depends on a seed, or else on NumPy's stream; none when shuffling is off."""
    if not call.switched_on(function.switch):
        return NONE
    return call.seeded_draw(function, code or host_code(call, NUMPY), kind="host", mode=mode)


def _split(call: Call) -> Value:
    """`sklearn.model_selection.train_test_split`."""
    marks = _marks(call, call.known)
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
        return Value("object", _marks(call, call.known), path=call.path)
    marks = _marks(call, call.known, ORDER if last(call.path) == "shuffle" else VALUE)
    items = [plain(total(given) | marks, numeric=given.numeric) for given in call.args]
    return items[0] if len(items) == 1 else Value("list", items=items)


def _made(call: Call) -> Value:
    """`sklearn.datasets.make_blobs(…)` and the like."""
    marks = _marks(call, call.known)
    pair = [Value("object", marks, path="numpy.ndarray", numeric=True) for _ in range(2)]
    return Value("tuple", items=pair)


def _variates(call: Call) -> Value:
    """`scipy.stats.norm.rvs(…)`."""
    return plain(_marks(call, call.known) | call.marks, numeric=True)


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
        return Value("object", total(receiver) | _marks(call, function), path=receiver.path)
    marks = total(receiver) | _marks(call, function, ORDER, "TW201")
    if is_images:
        return Value("generator", marks | call.marks, path="keras.preprocessing.image.Iterator")
    return Value("object", marks, path=receiver.path)


FUNCTIONS: dict[str, Handler] = {"sklearn.model_selection.train_test_split": _split}
KINDS: dict[tuple[Kind, str], Handler] = {
    (Kind.SHUFFLE, "sklearn"): _rearranged,
    (Kind.DRAW, "sklearn"): _made,
    (Kind.DRAW, "scipy"): _variates,
}
METHODS: dict[str, Handler] = dict.fromkeys(
    ("sample", "shuffle", "train_test_split", "flow", "flow_from_directory", "flow_from_dataframe"), _method
)
