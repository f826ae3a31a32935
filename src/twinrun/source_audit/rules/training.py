"""Training: the places where what varies starts to matter. Only what gets here becomes a finding.

These are `fit` and the like, gradients being applied and variables being set; datasets and the arguments of layers
and optimizers are in files of their own. Distribution strategies leave the number of replicas to the machine (TW601).
"""

from __future__ import annotations

from collections.abc import Iterable

from twinrun.knowledge.functions import TENSORFLOW, Kind, methods_of
from twinrun.source_audit.abstract_values import MISSING, Arguments, Value, parts, plain, total
from twinrun.source_audit.marks import NONE, Marks
from twinrun.source_audit.outgoing_call import Call, Handler
from twinrun.source_audit.rules.keras_layers import is_keras
from twinrun.source_audit.rules.threads import fed_by_loader, is_loader

_STRATEGY = "tensorflow.distribute.Strategy"
# Arguments of fit that watch or describe training and do not change it.
_WATCHING = frozenset({"callbacks", "verbose", "validation_data", "validation_freq", "validation_batch_size"})
# Estimators that prepare data; what they learn goes into their output, which is followed.
_PREPARING = ("sklearn.preprocessing", "sklearn.impute", "sklearn.feature_extraction", "sklearn.compose")


def _fit(call: Call) -> Value | None:
    """`model.fit(…)`, `fit_generator`, `train_on_batch`: the data and the model reach training."""
    receiver = call.receiver
    if receiver.path.startswith(_PREPARING):
        return None
    given = [*call.args, *(value for key, value in call.keywords.items() if key not in _WATCHING)]
    marks = call.spread.union(*(total(value) for value in given))
    for name in ("x", "generator"):
        data = call.argument(0, name)
        if data is not None:
            marks |= _fed(call, data)
    marks |= _called_by_framework(call, parts(receiver), marks)
    _called_by_framework(call, parts(call.keywords.get("callbacks") or plain()), marks)
    marks |= total(receiver)
    call.reach(marks, f"{call.path}()")
    return Value("object", marks, path="keras.callbacks.History")


def _fed(call: Call, data: Value) -> Marks:
    """What feeding the data adds: the shuffle that fit does itself, the draws of a loader."""
    marks: Marks = NONE
    if call.path == "fit" and _shuffles_arrays(call, data):
        marks |= call.draw(TENSORFLOW, "TW201", kind="op", part="fit")
    for each in data.each():
        if is_loader(each):
            marks |= fed_by_loader(call, each)
        elif each.kind == "function":
            marks |= total(call.enter_unknown(each))
    return marks


def _shuffles_arrays(call: Call, data: Value) -> bool:
    """`fit(x, y)` on arrays shuffles them by default, with TensorFlow's generator."""
    if not any(is_keras(each) or each.kind == "plain" for each in call.receiver.each()):
        return False
    shuffle = call.constant(None, "shuffle", True)
    if shuffle is MISSING or not shuffle or call.constant(1, "y") is None or call.open:
        return False
    return all(each.kind not in ("dataset", "generator", "instance") for each in data.each())


def _called_by_framework(call: Call, values: Iterable[Value], marks: Marks) -> Marks:
    """The framework calls the methods of the program's own models, layers and callbacks while it trains."""
    found: Marks = NONE
    for each in values:
        if each.kind != "instance" or not each.ref.external_bases:
            continue
        for function in each.ref.methods():
            if function.name in ("__init__", "get_config", "from_config") or function.is_property:
                continue
            if id(function.node) not in call.state.active:
                bound = None if function.is_static else each
                found |= total(call.enter_unknown(Value("function", ref=function, bound=bound), marks))
    return found


def _updated(call: Call) -> Value | None:
    """Gradients or values are written into the model."""
    path = call.receiver.path
    if call.path == "apply" and not path.startswith("keras.optimizers"):
        return None
    if call.path.startswith("assign") and path.startswith(("pandas", "xarray")):
        return None
    marks = call.marks | call.escaping()
    # In a library anything may be called `assign`; there it has to be known what is assigned to.
    if not call.state.library or path.startswith(("keras.", "tensorflow.")):
        call.reach(marks, f"{call.path}()")
    return plain(marks)


def _backward(call: Call) -> Value:
    call.reach(total(call.receiver), "backward()")
    return plain()


# -- distribution -------------------------------------------------------------------------------------


def _mirrored(call: Call) -> Value:
    """`MirroredStrategy()` takes every accelerator it can see."""
    return Value("object", NONE if call.given(0, "devices") else call.varies("TW601"), path=_STRATEGY)


def _multi_worker(call: Call) -> Value:
    """`MultiWorkerMirroredStrategy()` takes its workers from TF_CONFIG or a cluster resolver."""
    fixed = call.given(0, "cluster_resolver") or call.state.worker_config_fixed
    return Value("object", NONE if fixed else call.varies("TW601"), path=_STRATEGY)


def _strategy_method(call: Call) -> Value:
    """Training under a strategy is where the number of replicas matters."""
    if call.path in ("scope", "run", "experimental_run_v2", "experimental_distribute_dataset"):
        call.reach(call.receiver.marks, f"strategy.{call.path}()")
    if call.path in ("run", "experimental_run_v2") and call.args:
        return call.invoke(call.first, Arguments(call.items(1, "args")))
    if call.path.endswith("distribute_dataset") and call.args:
        return call.first
    if call.path.endswith("datasets_from_function") and call.first.kind == "function":
        return call.enter_unknown(call.first)
    return plain(call.marks | (total(call.receiver) if call.path == "reduce" else NONE))


FUNCTIONS: dict[str, Handler] = {
    "tensorflow.distribute.MirroredStrategy": _mirrored,
    "tensorflow.distribute.MultiWorkerMirroredStrategy": _multi_worker,
}
TYPES: dict[str, Handler] = {_STRATEGY: _strategy_method}
METHODS: dict[str, Handler] = {
    **dict.fromkeys(methods_of(Kind.TRAIN), _fit),
    **dict.fromkeys(methods_of(Kind.UPDATE), _updated),
    "backward": _backward,
}
