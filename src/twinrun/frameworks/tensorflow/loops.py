"""Steps inside a loop of one tf.function cannot be seen from outside. There, and only there, a host callback is put
into the loop's graph after the update: it gets the batch and the variables, and the twin can be held at that step.
Where XLA compiles the loop no callback is possible, and all steps of one call are reported as one span."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import control_flow_util
from tensorflow.python.ops.control_flow_v2_func_graphs import WhileBodyFuncGraph

from twinrun.frameworks.tensorflow.summarize import named_arguments
from twinrun.frameworks.tensorflow.tensors import leaves
from twinrun.twin.recorder import Block

if TYPE_CHECKING:
    from twinrun.frameworks.tensorflow.observer import Observer
    from twinrun.frameworks.tensorflow.updater import Updater


def depth() -> int:
    """How many loops surround the operation that would be created now."""
    graph = ops.get_default_graph()
    found = 0
    while graph is not None:
        if isinstance(graph, WhileBodyFuncGraph) or _is_dataset_loop(graph):
            found += 1
        graph = getattr(graph, "outer_graph", None)
    return found


def _is_dataset_loop(graph: Any) -> bool:
    """`for batch in dataset` inside a tf.function becomes a function of the dataset itself."""
    return str(getattr(graph, "name", "")).startswith(("Dataset_reduce", "Dataset_scan"))


def keep_element(element: Any) -> bool:
    """Keep an element that was drawn inside a loop for the callback of its step. False when not in a loop."""
    if depth() == 0:
        return False
    _elements().append(element)
    return True


def _elements() -> list[Any]:
    """Elements drawn, symbolically, in the loop body that is being traced, until the callback takes them. Kept by the
    body's graph: they belong to it and die with it."""
    graph = ops.get_default_graph()
    if not hasattr(graph, "_twinrun_elements"):
        graph._twinrun_elements = []
    found: list[Any] = graph._twinrun_elements
    return found


def is_compiled() -> bool:
    """Whether XLA compiles the graph that is being built."""
    return bool(control_flow_util.GraphOrParentsInXlaContext(ops.get_default_graph()))


def insert(observer: Observer, call: tuple[Any, Any, Any] | None) -> None:
    """Put the callback into the loop body, after the update that was just traced."""
    if is_compiled():
        return
    batch = _batch(call)
    updaters = [updater for updater in observer.updaters.values() if updater.iterations() is not None]
    gc.collect()  # the graph will keep what it reads
    variables = [(one, one.handle) for one in observer.variables.reported()]
    alive = [(one, handle) for one, handle in variables if handle is not None]
    report = _Report(
        observer,
        updaters,
        tuple(name for name, _ in batch),
        [(one.phase, one.name) for one, _ in alive],
        # In another twin one of these may not have been collected yet, so they are reported too.
        [
            (one.phase, one.name, one.last)
            for one, handle in variables
            if handle is None and one.last is not None
        ],
    )
    counters = [_read(updater.iterations()._handle, updater.iterations().dtype) for updater in updaters]
    values = [_read(handle, one.kind) for one, handle in alive]
    tf.numpy_function(report.callback, [*counters, *(leaf for _, leaf in batch), *values], [], stateful=True)


def _batch(call: tuple[Any, Any, Any] | None) -> list[tuple[str, Any]]:
    """What the step gets: elements drawn in the loop, and the arguments of the call that updates."""
    elements = _elements()
    batch = [leaf for element in elements for leaf in leaves(element)]
    elements.clear()
    if call is not None:
        known = {id(leaf) for _, leaf in batch}
        batch += [pair for pair in named_arguments(*call) if id(pair[1]) not in known]
    return [
        (name, leaf)
        for name, leaf in batch
        if isinstance(leaf, tf.Tensor) and leaf.dtype not in (tf.variant, tf.resource)
    ]


def _read(handle: Any, kind: Any) -> Any:
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.as_dtype(kind))


@dataclass(frozen=True, eq=False)
class _Report:
    """One step inside a loop, as the host callback gets it: counters of the updaters, batch, variables."""

    observer: Observer
    updaters: list[Updater]
    batch: tuple[str, ...]
    variables: list[tuple[str, str]]  # phase and name
    dead: list[tuple[str, str, int]]  # likewise, with their last digest

    def callback(self, *arrays: Any) -> None:
        recorder = self.observer.recorder
        try:
            if recorder.alive:
                with recorder.lock:
                    self._step(list(arrays))
        except Exception as problem:
            recorder.trouble(problem)

    def _step(self, arrays: list[Any]) -> None:
        span = 0
        for updater in self.updaters:
            count = int(arrays.pop(0))
            span = max(span, count - updater.count)
            updater.count = max(updater.count, count)
        if span <= 0:
            return
        recorder = self.observer.recorder
        for one in self.observer.take_probes():
            recorder.add(one)
        if self.batch:
            recorder.add(Block.of("batch", zip(self.batch, arrays, strict=False)))
        state = list(zip(self.variables, arrays[len(self.batch) :], strict=True))
        for phase in ("weights", "seed"):
            chosen = [(name, array) for (kind, name), array in state if kind == phase]
            if chosen:
                recorder.add(Block.of(phase, chosen))
            gone = [(name, digest) for kind, name, digest in self.dead if kind == phase]
            if gone:
                recorder.add(Block(phase, tuple(name for name, _ in gone), [digest for _, digest in gone]))
        recorder.step += span
        recorder.emit(span)
        recorder.wait_for_parent()
