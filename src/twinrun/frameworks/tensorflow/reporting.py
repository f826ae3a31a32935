"""How what was seen gets to the recorder: guarded, so that a failure of ours is never one of the program's, and from
inside graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from twinrun.twin.recorder import Recorder


class Guard:
    """`with guard:` reports an exception as trouble, and the program goes on after the block."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> bool:
        if not isinstance(problem, Exception):
            return False
        self._recorder.trouble(problem)
        return True


def add_callback(recorder: Recorder, report: Callable[[list[Any]], None], tensors: list[Any]) -> None:
    """Put a host callback into the graph that is being built: whenever it runs, `report` gets the tensors' values."""
    guard = Guard(recorder)

    def callback(*arrays: Any) -> None:
        with guard, recorder.lock:
            if recorder.alive:
                report(list(arrays))

    tf.numpy_function(callback, tensors, [], stateful=True)
