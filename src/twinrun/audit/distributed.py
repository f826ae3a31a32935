"""Distribution strategies whose number of replicas is left to the machine they run on (TW601)."""

from __future__ import annotations

from twinrun.audit import calls
from twinrun.audit.call import Arguments, Call, Handler
from twinrun.audit.marks import VALUE
from twinrun.audit.values import Thing, plain, total


def _mirrored(call: Call) -> Thing:
    """`MirroredStrategy()` takes every accelerator it can see."""
    strategy = Thing("object", path="tensorflow.distribute.Strategy")
    if not call.given(0, "devices"):
        strategy.marks = frozenset({(call.world.origin("TW601", call.frame, call.node), VALUE)})
    return strategy


def _multi_worker(call: Call) -> Thing:
    """`MultiWorkerMirroredStrategy()` takes its workers from TF_CONFIG or a cluster resolver."""
    strategy = Thing("object", path="tensorflow.distribute.Strategy")
    if not call.given(0, "cluster_resolver") and not call.world.worker_config_fixed:
        strategy.marks = frozenset({(call.world.origin("TW601", call.frame, call.node), VALUE)})
    return strategy


def strategy_method(call: Call) -> Thing:
    """What is done with a strategy: training under it is where the number of replicas matters."""
    receiver = call.receiver or plain()
    if call.path in ("scope", "run", "experimental_run_v2", "experimental_distribute_dataset"):
        call.reach(receiver.marks, f"strategy.{call.path}()")
    if call.path in ("run", "experimental_run_v2") and call.args:
        given = call.argument(1, "args")
        args = list(given.items) if given is not None and given.items is not None else []
        return calls.call_thing(call.world, call.frame, call.node, call.args[0], Arguments(args))
    if call.path.endswith("distribute_dataset") and call.args:
        return call.args[0]
    if call.path.endswith("datasets_from_function") and call.args and call.args[0].kind == "function":
        return calls.enter_unknown(call.world, call.frame, call.node, call.args[0])
    return plain(call.marks | total(receiver) if call.path == "reduce" else call.marks)


FUNCTIONS: dict[str, Handler] = {
    "tensorflow.distribute.MirroredStrategy": _mirrored,
    "tensorflow.distribute.MultiWorkerMirroredStrategy": _multi_worker,
}

TYPES: dict[str, Handler] = {"tensorflow.distribute.Strategy": strategy_method}
