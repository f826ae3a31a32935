"""`twinrun.probe` for tensors: eagerly as they are, inside a tf.function through a host callback."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from twinrun.frameworks.tensorflow import loops
from twinrun.frameworks.tensorflow.observer import observer_for
from twinrun.frameworks.tensorflow.tensors import block, leaves
from twinrun.twin.recorder import Block, Recorder


def probe_tensor(recorder: Recorder, name: str, tensor: Any) -> bool:
    """False when it holds nothing of TensorFlow's."""
    observer = observer_for(recorder)
    if isinstance(tensor, tf.Variable):
        tensor = tensor.read_value()
    if tf.executing_eagerly():
        found = block("probe", tensor, name)
        if found is not None:
            observer.pending.append(found)
        return found is not None
    if loops.is_compiled():
        recorder.note(f"probe {name!r} is inside a function that XLA compiles and cannot be seen there")
        return True
    parts = [(part, leaf) for part, leaf in leaves(tensor, name) if isinstance(leaf, tf.Tensor)]
    names = tuple(part for part, _ in parts)

    def callback(*arrays: Any) -> None:
        try:
            with recorder.lock:
                observer.pending_graph.append((0, Block.of("probe", zip(names, arrays, strict=True))))
        except Exception as problem:
            recorder.trouble(problem)

    tf.numpy_function(callback, [leaf for _, leaf in parts], [], stateful=True)
    return True
