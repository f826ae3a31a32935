"""Distribution strategies whose number of replicas is left to the machine they run on (TW601)."""

from __future__ import annotations

from twinrun.source_audit.abstract_values import Arguments, Value, plain, total
from twinrun.source_audit.marks import NONE
from twinrun.source_audit.outgoing_call import Call, Handler

_STRATEGY = "tensorflow.distribute.Strategy"


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
