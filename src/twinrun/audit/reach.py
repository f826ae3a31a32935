"""Training: the places where what varies starts to matter. Only what gets here becomes a finding.

Places: `fit` and its kin, gradients being applied, variables being set, and (in their own files) datasets,
the arguments of layers and optimizers, and the shuffles inside them.
"""

from __future__ import annotations

from twinrun.audit import calls
from twinrun.audit.call import Call, Handler
from twinrun.audit.keras_layers import is_keras
from twinrun.audit.loaders import fed_by_loader, is_loader
from twinrun.audit.marks import Marks
from twinrun.audit.values import MISSING, Thing, parts, plain, total
from twinrun.audit.world import TENSORFLOW

# Arguments of fit that watch or describe training and do not change it.
_WATCHING = frozenset({"callbacks", "verbose", "validation_data", "validation_freq", "validation_batch_size"})
# Estimators that prepare data; what they learn goes into their output, which is followed.
_PREPARING = ("sklearn.preprocessing", "sklearn.impute", "sklearn.feature_extraction", "sklearn.compose")


def fit(call: Call) -> Thing | None:
    """`model.fit(…)`, `fit_generator`, `train_on_batch`: the data and the model reach training."""
    receiver = call.receiver or plain()
    if receiver.path.startswith(_PREPARING):
        return None
    marks: Marks = call.spread
    for key, value in [*((str(i), arg) for i, arg in enumerate(call.args)), *call.keywords.items()]:
        if key not in _WATCHING:
            marks |= total(value)
    for position, name in ((0, "x"), (0, "generator")):
        data = call.argument(position, name)
        if data is not None:
            marks |= _fed(call, data)
    marks |= _called_by_framework(call, list(parts(receiver)), marks)
    _called_by_framework(call, list(parts(call.keywords.get("callbacks") or plain())), marks)
    marks |= total(receiver)
    call.reach(marks, f"{call.path}()")
    return Thing("object", marks, path="keras.callbacks.History")


def _fed(call: Call, data: Thing) -> Marks:
    """What feeding the data adds: the shuffle that fit does itself, the draws of a loader."""
    marks: Marks = frozenset()
    if call.path == "fit" and _shuffles_arrays(call, data):
        marks |= call.world.draw(TENSORFLOW, "TW201", call.frame, call.node, kind="op", part="fit")
    for each in data.each():
        if is_loader(each):
            marks |= fed_by_loader(call, each)
        elif each.kind == "function":
            marks |= total(calls.enter_unknown(call.world, call.frame, call.node, each))
    return marks


def _shuffles_arrays(call: Call, data: Thing) -> bool:
    """`fit(x, y)` on arrays shuffles them by default, with TensorFlow's generator."""
    receiver = call.receiver or plain()
    if not any(is_keras(each) or each.kind == "plain" for each in receiver.each()):
        return False
    shuffle = call.keywords.get("shuffle")
    if shuffle is not None and (shuffle.constant is MISSING or not shuffle.constant):
        return False
    targets = call.argument(1, "y")
    if targets is None or targets.constant is None or call.open:
        return False
    return all(each.kind not in ("dataset", "generator", "instance") for each in data.each())


def _called_by_framework(call: Call, things: list[Thing], marks: Marks) -> Marks:
    """The framework calls the methods of the program's own models, layers and callbacks while it trains."""
    found: Marks = frozenset()
    for each in things:
        if each.kind != "instance" or not each.ref.external_bases:
            continue
        for function in each.ref.methods():
            if function.name in ("__init__", "get_config", "from_config") or function.is_property:
                continue
            if id(function.node) in call.world.active:
                continue
            bound = Thing("function", ref=function, bound=each)
            if function.is_static:
                bound.bound = None
            found |= total(calls.enter_unknown(call.world, call.frame, call.node, bound, marks))
    return found


def _applied(call: Call) -> Thing | None:
    """Gradients or values are written into the model."""
    receiver = call.receiver or plain()
    if call.path == "apply" and not receiver.path.startswith("keras.optimizers"):
        return None
    if call.path in ("assign", "assign_add", "assign_sub") and receiver.path.startswith(("pandas", "xarray")):
        return None
    marks = call.marks | calls.enter_escaping(call, call.everything)
    # In a library anything may be called `assign`; there it has to be known what is assigned to.
    if not call.world.library or receiver.path.startswith(("keras.", "tensorflow.")):
        call.reach(marks, f"{call.path}()")
    return plain(marks)


def _backward(call: Call) -> Thing:
    call.reach(total(call.receiver) if call.receiver is not None else frozenset(), "backward()")
    return plain()


METHODS: dict[str, Handler] = {
    "fit": fit,
    "fit_generator": fit,
    "train_on_batch": fit,
    "partial_fit": fit,
    "apply_gradients": _applied,
    "apply": _applied,
    "minimize": _applied,
    "set_weights": _applied,
    "assign": _applied,
    "assign_add": _applied,
    "assign_sub": _applied,
    "backward": _backward,
}
