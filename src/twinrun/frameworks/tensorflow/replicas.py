"""Training that a distribution strategy spreads over replicas, on the devices of this process or over several workers: the
batch and the gradients of each replica, the reduced gradients, and whether the copies of a variable stay equal."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.python.distribute import values
from tensorflow.python.eager import context

from twinrun.frameworks.tensorflow import loops
from twinrun.frameworks.tensorflow.summarize import named_arguments
from twinrun.frameworks.tensorflow.tensors import Named, block_of, leaves
from twinrun.protocol.facts import Drift, Replicated

if TYPE_CHECKING:
    from twinrun.frameworks.tensorflow.observer import Observer
    from twinrun.frameworks.tensorflow.variable_plan import Tracked
    from twinrun.twin.block import Block


class Replicas:
    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._copies: list[list[Tracked]] = []  # of each variable that replicas share
        self._gradients: list[Any] = []  # the variables of an update that is under way, those with a gradient
        self._nameless = itertools.count()  # reductions of the program's own
        self._place: tuple[str, int | None] | None = None  # in a cluster
        self.drift: Drift | None = None
        self.open_step: int | None = None
        observer.recorder.replicated = self.report

    # what the points report

    def on_variable(self, result: Any, variable: Any, *_: Any, **__: Any) -> None:
        """A variable of several replicas was made, after its copies. One that is summed up only when it is read is
        different in every replica, and so may be what is not trained: statistics of a replica's own batches."""
        if isinstance(variable, values.MirroredVariable) and variable.trainable:
            copies = self._observer.variables.known(variable._values)
            if copies:
                self._copies.append(copies)
                self._place = self._place or _place(variable._distribute_strategy)

    def on_run(self, original: Callable[..., Any], strategy: Any, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """`strategy.run`: what it is given is the batch of each replica."""
        batch, self._nameless = None, itertools.count()
        # A worker that is alone is seen as one of several, with which it may be compared.
        of_workers = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
        if strategy.num_replicas_in_sync > 1 or of_workers:
            with self._observer.guard:
                batch = self._on_batch(args[0] if args else kwargs.get("args", ()))
        result = original(strategy, fn, *args, **kwargs)
        if batch is not None:  # it was no training, unless an update has taken it by now
            self._observer.pending.keep(lambda one: one is not batch)
        return result

    def _on_batch(self, given: Any) -> Block | None:
        """What is pending now, where the run is eager."""
        if context.executing_eagerly():
            batch = block_of("batch", _elements(given))
            self._observer.pending.add(batch)
            return batch
        if loops.depth():
            loops.keep_element(given)
        elif not (self._is_seen_outside() and all(_is_argument(leaf) for _, leaf in leaves(given))):
            self._observer.add_callback("batch", _elements(given))
        return None

    def _is_seen_outside(self) -> bool:
        """Whether the outermost tf.function was given tensors, which are its batch."""
        outer = self._observer.outer_given
        return outer is not None and block_of("batch", named_arguments(*outer)) is not None

    def on_reduction(
        self,
        original: Callable[..., Any],
        extended: Any,
        reduce_op: Any,
        pairs: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Values of several replicas are summed up, seen from outside of them."""
        pairs = list(pairs)
        result = original(extended, reduce_op, pairs, *args, **kwargs)
        with self._observer.guard:
            self._on_reduced(extended, [value for value, _ in pairs], result)
        return result

    def on_all_reduce(
        self,
        original: Callable[..., Any],
        extended: Any,
        reduce_op: Any,
        value: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """The same inside a replica. Eagerly it goes the other way too."""
        result = original(extended, reduce_op, value, *args, **kwargs)
        if not context.executing_eagerly():
            with self._observer.guard:
                self._on_reduced(extended, tf.nest.flatten(value), tf.nest.flatten(result))
        return result

    def _on_reduced(self, extended: Any, local: Sequence[Any], reduced: Sequence[Any]) -> None:
        """An update has one gradient for each of its variables. What the program reduces itself, such as gradients
        that it clips, has no names, and is seen where it is part of a graph that trains."""
        names = [_name(variable) for variable in self._gradients]
        if not names and not context.executing_eagerly():
            names = [f"all_reduce_{next(self._nameless)}" for _ in local]
        if extended._num_replicas_in_sync < 2 or len(names) != len(local) or len(names) != len(reduced):
            return
        self._add("gradient", _named("local", names, local))
        self._add("gradient", _named("reduced", names, [_first(value) for value in reduced]))

    def _add(self, phase: str, named: Iterable[Named]) -> None:
        if context.executing_eagerly():
            self._observer.pending.add(block_of(phase, named))
        elif not loops.depth() and not loops.is_compiled():  # there only the step as a whole is seen
            self._observer.add_callback(phase, named)

    # updates

    def updating(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """An optimizer is about to apply these gradients to these variables."""
        self._gradients = [variable for gradient, variable in pairs if gradient is not None]

    def updated(self) -> None:
        self._gradients = []

    # the copies of a variable

    def look_for_drift(self, step: int) -> None:
        """After the variables were looked at."""
        if self.drift is not None:
            return
        for first, *others in self._copies:
            for number, other in enumerate(others, start=1):
                if first.digest != other.digest and first.on_device == other.on_device:
                    self.drift = Drift(step, first.name, number)
                    return

    def report(self) -> Replicated | None:
        if self._place is None:
            return None
        cluster, number = self._place
        return Replicated(
            cluster, [copies[0].name for copies in self._copies], self.drift, number, self.open_step
        )


def is_first_here() -> bool:
    """Whether this is the first replica of the process, or none at all: each of them calls the optimizer."""
    replica = tf.distribute.get_replica_context()
    if replica is None or not tf.distribute.has_strategy():
        return True
    here = len(replica.strategy.extended.worker_devices) or 1
    return int(replica._replica_id) % here == 0 if isinstance(replica._replica_id, int) else True


def _elements(given: Any) -> Iterator[Named]:
    """The one argument that is a whole batch keeps its own names."""
    whole = given[0] if isinstance(given, tuple) and len(given) == 1 else given
    return leaves(whole)


def _is_argument(tensor: Any) -> bool:
    """Whether it is an argument of the tf.function that is being built."""
    return isinstance(tensor, tf.Tensor) and tensor.op.type == "Placeholder"


def _first(value: Any) -> Any:
    return value.values[0] if isinstance(value, tf.distribute.DistributedValues) else value


def _named(title: str, names: Sequence[str], tensors: Sequence[Any]) -> Iterator[Named]:
    for name, tensor in zip(names, tensors, strict=True):
        yield from leaves(tensor, f"{title}/{name}")


def _name(variable: Any) -> str:
    return str(getattr(variable, "path", None) or variable.name).partition(":")[0]


def _place(strategy: Any) -> tuple[str, int | None]:
    """The addresses of its workers, and which of them this process is; neither where it is all of them, or none."""
    resolver = getattr(strategy, "cluster_resolver", None)
    if resolver is None:
        return "", None
    cluster = resolver.cluster_spec()
    addresses = [address for job in ("chief", "worker") for address in cluster.as_dict().get(job, ())]
    if len(addresses) < 2 or resolver.task_type not in ("chief", "worker"):
        return "", None
    return ",".join(addresses), addresses.index(cluster.task_address(resolver.task_type, resolver.task_id))
