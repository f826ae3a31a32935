"""Distribution strategies: how many replicas train, and in what order their gradients are summed up. An experiment makes
every twin use one way to sum, or one replica."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import reduce, wraps
from typing import Any

import msgspec

from twinrun.frameworks.packages import tf_point
from twinrun.frameworks.tensorflow.runtime import tf
from twinrun.protocol import Event, Evidence, Freeze, Source, Suspect, Weight
from twinrun.twin.callers import Caller, caller

NAME = "strategies"
# What an experiment can make of a strategy, in words.
_ACTIONS = {
    "one-device": "with the gradients summed on one device",
    "hierarchical-copy": "with the gradients summed by hierarchical copy",
    "ring": "with the gradients summed around a ring",
    "auto": "with the gradients summed by the collective that TensorFlow chooses",
    "sorted": "with the gradients of all workers sorted by value before they are summed",
    "one-replica": "with one replica",
}
_INSTEAD = {"MirroredStrategy": ("one-device", "hierarchical-copy")}
_OF_WORKERS, _OF_RING = ("ring", "sorted"), ("auto", "sorted")
_FIXED = {
    "MirroredStrategy": "tf.distribute.MirroredStrategy(devices, cross_device_ops=tf.distribute.ReductionToOneDevice())",
}
_FIXED_OF_WORKERS = (
    "communication_options=tf.distribute.experimental.CommunicationOptions(implementation="
    "tf.distribute.experimental.CommunicationImplementation.{})"
)
_IN_ORDER = (
    "every collective adds in the order of the workers and by the place of a value in its tensor: keep the order of the "
    "addresses in TF_CONFIG, and the shapes of what is reduced, the same in every run"
)

_NO_NCCL = (
    "NcclAllReduce works on GPUs alone: on the devices that --replicas makes, gradients are summed by "
    "HierarchicalCopyAllReduce"
)


class Made(msgspec.Struct, frozen=True):
    """A strategy as it was made."""

    strategy: str = ""
    replicas: int = 0
    reduction: str = ""  # the class of its cross_device_ops, or the implementation of its collectives
    number: int | None = None  # of this worker in its cluster


def _mirrored(session: Any, original: Any) -> Any:
    from twinrun.frameworks.tensorflow.logical_devices import on_cpus, reduction_of_cpus

    @wraps(original)
    def __init__(self: Any, devices: Any = None, cross_device_ops: Any = None) -> None:  # noqa: N807
        who = caller()
        if session.spec is not None and session.spec.replicas:
            devices, given = on_cpus(devices), cross_device_ops
            cross_device_ops = reduction_of_cpus(given)
            if cross_device_ops is not given:
                session.notes.append(_NO_NCCL)
        if _frozen(session, "one-replica", who):
            devices = [str(device) for device in devices][:1] if devices else ["/CPU:0"]
        if _frozen(session, "one-device", who):
            cross_device_ops = tf.distribute.ReductionToOneDevice()
        elif _frozen(session, "hierarchical-copy", who):
            cross_device_ops = tf.distribute.HierarchicalCopyAllReduce()
        original(self, devices, cross_device_ops)
        _record(session, who, self, lambda: _reduction(self.extended._cross_device_ops))

    return __init__


def _reduction(ops: Any) -> str:
    """The default of a MirroredStrategy uses a collective, as several workers do."""
    name = type(ops).__name__
    options = getattr(ops, "_options", None)
    return name if options is None else f"{name} ({options.implementation.value})"


def _of_workers(session: Any, original: Any) -> Any:
    signature = inspect.signature(original)

    @wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        who = caller()
        given = signature.bind_partial(self, *args, **kwargs)
        for action in ("ring", "auto"):
            if _frozen(session, action, who):
                chosen = tf.distribute.experimental.CommunicationImplementation[action.upper()]
                options = tf.distribute.experimental.CommunicationOptions(implementation=chosen)
                given.arguments["communication_options"] = options
        original(*given.args, **given.kwargs)
        if _frozen(session, "sorted", who):
            _sum_sorted(self.extended._cross_device_ops)
        _record(session, who, self, lambda: self.extended._communication_options.implementation.value)

    return __init__


def _sum_sorted(collectives: Any) -> None:
    """Values that are sorted have one sum, whatever the order of the workers, the implementation of the collective, and the
    place of a value in a tensor."""
    original = collectives._all_reduce

    def _all_reduce(reduce_op: Any, value: Any, replica: int, options: Any) -> Any:
        def total(tensor: Any) -> Any:
            every = collectives._launchers[replica].all_gather(tensor[tf.newaxis], 0, options)
            found = reduce(tf.add, tf.unstack(tf.sort(every, axis=0), collectives._group_size))
            return found / collectives._group_size if reduce_op == tf.distribute.ReduceOp.MEAN else found

        sparse = any(isinstance(leaf, tf.IndexedSlices) for leaf in tf.nest.flatten(value))
        if sparse or tf.executing_eagerly():  # nothing can be gathered there
            return original(reduce_op, value, replica, options)
        return tf.nest.map_structure(total, value)

    collectives._all_reduce = _all_reduce


def _parameter_servers(session: Any, original: Any) -> Any:
    @wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        who = caller()
        if session.recorder is not None:
            where = f" ({who.file}:{who.line})" if who is not None else ""
            session.recorder.unrepeatable = (
                f"ParameterServerStrategy{where} applies the gradients of each worker when they arrive, in no fixed order: "
                "no run repeats another; MultiWorkerMirroredStrategy can"
            )
        original(self, *args, **kwargs)

    return __init__


def _frozen(session: Any, action: str, who: Caller | None) -> bool:
    return session.log.frozen(NAME, action, who) is not None


def _record(session: Any, who: Caller | None, strategy: Any, reduction: Callable[[], str]) -> None:
    name = type(strategy).__name__
    name = "MultiWorkerMirroredStrategy" if "CollectiveAllReduce" in name else name
    try:
        resolver = strategy.cluster_resolver
        number = resolver.task_id if resolver is not None else None
        made = Made(name, int(strategy.num_replicas_in_sync), reduction(), number)
    except AttributeError as problem:  # of another release
        session.notes.append(f"the cause may be missed: {name} is not as expected ({problem})")
        return
    session.log.record(NAME, "make", who, f"tf.distribute.{name}", repr(made).encode(), detail=made)


class Strategies(Source):
    name = NAME
    codes = ("TW603", "TW601")
    actions = tuple(_ACTIONS)
    weight = Weight(init=9, batch=9, later=9)
    points = (
        tf_point("distribute.mirrored_strategy:MirroredStrategy.__init__", _mirrored, "replicas of this process"),
        tf_point(
            "distribute.collective_all_reduce_strategy:CollectiveAllReduceStrategy.__init__", _of_workers,
            "replicas of several workers",
        ),
        tf_point(
            "distribute.parameter_server_strategy_v2:ParameterServerStrategyV2.__init__", _parameter_servers,
            "a strategy whose updates come in no fixed order", "verdict",
        ),
        tf_point(
            "distribute.parameter_server_strategy:ParameterServerStrategyV1.__init__", _parameter_servers,
            "the same in TensorFlow 1", "verdict",
        ),
    )  # fmt: skip

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        for a, b in evidence.of(self.name, "make"):
            if a is None or b is None or evidence.drift:
                continue
            one, other = a.detail_as(Made), b.detail_as(Made)
            if one.replicas != other.replicas:
                yield self._count(a, one, other)
            elif _is_reduction(evidence):
                yield from self._order(a, one, other)

    def _count(self, event: Event, one: Made, other: Made) -> Suspect:
        message = f"{event.call} has {one.replicas} replicas in one run and {other.replicas} in the other"
        freeze = (Freeze.at(event, "one-replica"),) if one.strategy == "MirroredStrategy" else ()
        return self.suspect([event], message, code="TW601", freeze=freeze, experiment=_ACTIONS["one-replica"])

    def _order(self, event: Event, one: Made, other: Made) -> Iterator[Suspect]:
        """The gradients of every replica were equal, and their sum is not."""
        ways = one.reduction
        if one.reduction != other.reduction:
            ways += f" in one run and by {other.reduction} in the other"
        message = f"{event.call} has the gradients of its replicas summed by {ways}"
        if one.number != other.number:
            message += f", and worker {one.number} of one run is worker {other.number} of the other"
        ring = one.reduction == other.reduction == "RING"  # by which the sums differ already
        of_workers = _FIXED_OF_WORKERS.format("AUTO" if ring else "RING")
        known = _FIXED.get(one.strategy) or f"tf.distribute.{one.strategy}({of_workers})"
        notes = ("what every replica gave is equal in both twins, the sum is not",)
        instead = _INSTEAD.get(one.strategy, _OF_RING if ring else _OF_WORKERS)
        for number, action in enumerate(instead):
            yield self.suspect(
                [event], message, freeze=(Freeze.at(event, action),), experiment=_ACTIONS[action], notes=notes,
                in_words=_IN_ORDER if action == "sorted" else known, last_resort=number > 0,
            )  # fmt: skip


def _is_reduction(evidence: Evidence) -> bool:
    """The gradients of every replica are equal, and their sum is not. Their losses may be summed up as well, and differ
    before."""
    differing = (f"{evidence.first.phase}: {evidence.first.tensor}", *evidence.also)
    first = next((each for each in differing if each.startswith("gradient: ")), "")
    return evidence.first.phase in ("loss", "gradient") and first.startswith("gradient: reduced/")
