"""Steps inside a loop of one tf.function cannot be seen from outside. There, and only there, a host callback is put
into the loop's graph after the update: it gets the batch and the variables, and the twin can be held at that step.
Where XLA compiles the loop no callback is possible, and the steps between two looks are reported as one span."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import control_flow_util
from tensorflow.python.ops.control_flow_v2_func_graphs import WhileBodyFuncGraph

from twinrun.frameworks.tensorflow.summarize import named_arguments
from twinrun.frameworks.tensorflow.tensors import leaves
from twinrun.recording.digest import digest_array
from twinrun.twin.recorder import Block

if TYPE_CHECKING:
    from twinrun.frameworks.tensorflow.observer import Observer


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


def drew(element: Any) -> bool:
    """An element drawn inside a loop is remembered for the callback of its step. False when not in a loop."""
    if depth() == 0:
        return False
    _drawn().append(element)
    return True


def _drawn() -> list[Any]:
    """Elements drawn, symbolically, in the loop body that is being traced, until the callback takes them. Kept by the
    body's graph: they belong to it and die with it."""
    graph = ops.get_default_graph()
    if not hasattr(graph, "_twinrun_drawn"):
        graph._twinrun_drawn = []
    found: list[Any] = graph._twinrun_drawn
    return found


def compiled() -> bool:
    return bool(control_flow_util.GraphOrParentsInXlaContext(ops.get_default_graph()))


def insert(observer: Observer, call: tuple[Any, Any, Any] | None) -> None:
    """Put the callback into the loop body, after the update that was just traced."""
    if compiled():
        return
    drawn = _drawn()
    batch = [leaf for element in drawn for leaf in leaves(element)]
    drawn.clear()
    if call is not None:
        known = {id(leaf) for _, leaf in batch}
        batch += [pair for pair in named_arguments(*call) if id(pair[1]) not in known]
    batch = [
        (name, leaf)
        for name, leaf in batch
        if isinstance(leaf, tf.Tensor) and leaf.dtype not in (tf.variant, tf.resource)
    ]
    updaters = [updater for updater in observer._updaters.values() if updater.iterations() is not None]
    gc.collect()  # the graph will keep what it reads
    rows = [(row, row.handle) for row in observer.variables.rows()]
    counters = [_read(updater.iterations()) for updater in updaters]
    values = [_read_handle(handle, row.kind) for row, handle in rows if handle is not None]
    names = tuple(name for name, _ in batch)
    kinds = [(row.phase, row.name) for row, handle in rows if handle is not None]
    # Which have died already may be otherwise in another twin, so that these are told of too.
    dead = [
        (row.phase, row.name, row.last) for row, handle in rows if handle is None and row.last is not None
    ]

    def seen(*arrays: Any) -> None:
        try:
            _seen(observer, updaters, names, kinds, dead, list(arrays))
        except Exception as problem:
            observer.watch.trouble(problem)

    tf.numpy_function(seen, [*counters, *(leaf for _, leaf in batch), *values], [], stateful=True)


def _read(variable: Any) -> Any:
    return tf.raw_ops.ReadVariableOp(resource=variable._handle, dtype=variable.dtype)


def _read_handle(handle: Any, kind: int) -> Any:
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.as_dtype(kind))


def _seen(
    observer: Observer,
    updaters: list[Any],
    names: tuple[str, ...],
    kinds: list[tuple[str, str]],
    dead: list[tuple[str, str, int]],
    arrays: list[Any],
) -> None:
    watch = observer.watch
    if not watch.alive:
        return
    with watch.lock:
        span = 0
        for updater in updaters:
            count = int(arrays.pop(0))
            span = max(span, count - updater.count)
            updater.count = max(updater.count, count)
        if span <= 0:
            return
        batch, values = arrays[: len(names)], arrays[len(names) :]
        for one in observer.probed():
            watch.add(one)
        if names:
            watch.add(
                Block("batch", names, [digest_array(array) for array in batch], lambda number: batch[number])
            )
        for phase in ("weights", "seed"):
            chosen = [
                (name, array) for (kind, name), array in zip(kinds, values, strict=True) if kind == phase
            ]
            if chosen:
                watch.add(_block(phase, chosen))
            gone = [(name, digest) for kind, name, digest in dead if kind == phase]
            if gone:
                watch.add(Block(phase, tuple(name for name, _ in gone), [digest for _, digest in gone]))
        watch.step += span
        watch.emit(span)
        watch.settle()


def _block(phase: str, chosen: list[tuple[str, Any]]) -> Block:
    return Block(
        phase,
        tuple(name for name, _ in chosen),
        [digest_array(array) for _, array in chosen],
        lambda number: chosen[number][1],
    )
