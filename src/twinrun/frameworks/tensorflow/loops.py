"""Steps inside a loop of one tf.function cannot be seen from outside. There, and only there, a host callback is put
into the loop's graph after the update: it gets the batch and the variables, and the twin can be held at that step.
Where XLA compiles the loop no callback is possible, and all steps of one call are reported as one span."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import control_flow_util
from tensorflow.python.ops.control_flow_v2_func_graphs import WhileBodyFuncGraph

from twinrun.frameworks.tensorflow.reporting import add_callback
from twinrun.frameworks.tensorflow.summarize import named_arguments
from twinrun.frameworks.tensorflow.tensors import Named, has_bits, leaves
from twinrun.frameworks.tensorflow.variable_groups import blocks_of, grouped, kinds_of
from twinrun.twin.block import Block

if TYPE_CHECKING:
    from twinrun.frameworks.tensorflow.observer import Observer
    from twinrun.frameworks.tensorflow.updater import Given


def depth() -> int:
    """How many loops surround the operation that would be created now."""
    graph = ops.get_default_graph()
    found = 0
    while graph is not None:
        if isinstance(graph, WhileBodyFuncGraph) or is_dataset_loop(graph):
            found += 1
        graph = getattr(graph, "outer_graph", None)
    return found


def is_dataset_loop(graph: Any) -> bool:
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


def insert(observer: Observer, given: Given | None) -> None:
    """Put the callback into the loop body, after the update that was just traced."""
    if is_compiled():
        return
    recorder, pending = observer.recorder, observer.pending
    batch = _batch(given)
    updaters = [updater for updater in observer.updaters.values() if updater.iterations() is not None]
    gc.collect()  # the graph will keep what it reads
    variables = [(one, one.handle) for one in observer.variables.reported()]
    alive = [(one, handle) for one, handle in variables if handle is not None]
    # In another twin one of these may not have been collected yet, so they are reported too.
    last = {one: one.last for one, handle in variables if handle is None and one.last is not None}
    gone = [
        Block(kind, names, [last[one] for one in members], kinds=kinds_of(members))
        for kind, names, members in grouped(list(last))
    ]
    present = [one for one, _ in alive]
    batch_names = [name for name, _ in batch]

    def report(arrays: list[Any]) -> None:
        """One step: the updaters' counters, the batch, the variables."""
        span = 0
        for updater in updaters:
            count = int(arrays.pop(0))
            span = max(span, count - updater.count)
            updater.count = max(updater.count, count)
        if span <= 0:
            return
        blocks = pending.take_probes()
        if batch_names:
            blocks.append(Block.of("batch", zip(batch_names, arrays, strict=False)))
        state = blocks_of("weights", present, arrays[len(batch_names) :])
        for block in (*blocks, *state, *gone):
            recorder.add(block)
        recorder.step += span
        recorder.emit(span)
        recorder.wait_for_parent()

    counters = [_read(updater.iterations()._handle, updater.iterations().dtype) for updater in updaters]
    values = [_read(handle, one.kind) for one, handle in alive]
    add_callback(recorder, report, [*counters, *(leaf for _, leaf in batch), *values])


def _batch(given: Given | None) -> list[Named]:
    """What the step gets: elements drawn in the loop, and the arguments of the call that updates."""
    elements = _elements()
    batch = [leaf for element in elements for leaf in leaves(element)]
    elements.clear()
    if given is not None:
        known = {id(leaf) for _, leaf in batch}
        batch += [pair for pair in named_arguments(*given) if id(pair[1]) not in known]
    return [(name, leaf) for name, leaf in batch if has_bits(leaf)]


def _read(handle: Any, kind: Any) -> Any:
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.as_dtype(kind))
