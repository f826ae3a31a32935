"""`twinrun.probe` for tensors: eagerly as it is, inside a tf.function through a host callback."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from twinrun.frameworks.tensorflow import loops
from twinrun.frameworks.tensorflow.observer import observer_for
from twinrun.frameworks.tensorflow.tensors import block, leaves
from twinrun.recording.digest import digest_array
from twinrun.twin.recorder import Block, Watch


def probe_tensor(watch: Watch, name: str, tensor: Any) -> bool:
    """False when this is nothing of TensorFlow's."""
    observer = observer_for(watch)
    if isinstance(tensor, tf.Variable):
        tensor = tensor.read_value()
    if tf.executing_eagerly():
        seen = block("probe", tensor, name)
        if seen is not None:
            observer.pending.append(seen)
        return seen is not None
    if loops.compiled():
        watch.notes.append(f"probe {name!r} is inside a function that XLA compiles and cannot be seen there")
        return True
    parts = [(part, leaf) for part, leaf in leaves(tensor, name) if isinstance(leaf, tf.Tensor)]
    names = tuple(part for part, _ in parts)

    def callback(*arrays: Any) -> None:
        values = list(arrays)
        try:
            with watch.lock:
                digests = [digest_array(array) for array in values]
                observer.pending_graph.append(
                    (0, Block("probe", names, digests, lambda number: values[number]))
                )
        except Exception as problem:
            watch.trouble(problem)

    tf.numpy_function(callback, [leaf for _, leaf in parts], [], stateful=True)
    return True
