"""What `evaluate`, `predict` and their like give back: compared in the order of the calls, under phase `metric` of the step
after which they were made."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from twinrun.frameworks.tensorflow.tensors import Named, as_array, folded, leaves
from twinrun.recording.digest import digest_array
from twinrun.twin.block import Block, scalars

if TYPE_CHECKING:
    from twinrun.frameworks.tensorflow.observer import Observer

_COPIED_BYTES = 1 << 20  # the program may change in place what it was given
_KEPT_BYTES = 64 << 20  # of anything larger there is only a digest
_MOST_RESULTS = 1000  # of one step; beyond, one digest stands for all the rest
_ALL = (1 << 64) - 1


class Evaluations:
    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._results: list[Block] = []  # since the last update, of a step that is open
        self._threads: int | None = None  # a digest of all results in other threads
        self.under_way = 0  # calls that have not returned

    def forget(self) -> None:
        self._results, self._threads, self.under_way = [], None, 0

    def call(self, name: str, model: Any, original: Callable[[], Any]) -> Any:
        """Around one call. Without a name its result is reported elsewhere."""
        self.under_way += 1
        try:
            result = original()
        finally:
            self.under_way -= 1
        if name:
            with self._observer.guard:
                self.add(list(_named(name, model, result)))
        return result

    def add(self, named: list[Named]) -> None:
        """NumPy arrays, under their names."""
        if not named:
            return
        found = _block(named)
        recorder = self._observer.recorder
        with recorder.lock:
            if threading.current_thread() is not threading.main_thread():
                # At no certain time: neither their order nor the step mean anything.
                self._threads = (sum(found.digests) + (self._threads or 0)) & _ALL
            elif not self._observer.settle_step():
                recorder.add(found)
                recorder.emit(0)
            elif len(self._results) < _MOST_RESULTS:
                self._results.append(found)
            else:
                self._results[-1] = folded(self._results[-1], found)

    def end_step(self) -> None:
        """The step to which the last results belong is being closed."""
        results, self._results = self._results, []
        for one in results:
            self._observer.recorder.add(one)

    def finish(self) -> None:
        if self._threads is not None:
            names = ("results of evaluations in threads",)
            self._observer.recorder.add(Block("metric", names, [self._threads]))


def _block(named: list[Named]) -> Block:
    arrays = [array for _, array in named]
    kept = [
        array.copy() if array.nbytes <= _COPIED_BYTES else array if array.nbytes <= _KEPT_BYTES else None
        for array in arrays
    ]
    names, digests = tuple(name for name, _ in named), [digest_array(array) for array in arrays]
    return Block("metric", names, digests, kept.__getitem__, scalars(arrays))


def _named(name: str, model: Any, result: Any) -> Iterator[Named]:
    """Single numbers by the names of the metrics: `evaluate/loss`. Arrays as they are: `predict`, `predict/0`."""
    if isinstance(result, dict):
        numbers = {key: value for key, value in result.items() if np.isscalar(value)}
    else:
        given = result if isinstance(result, (list, tuple)) else [result]
        numbers = dict(zip(_metrics(model, len(given)), given, strict=True))
    if all(np.isscalar(value) for value in numbers.values()) and numbers:
        yield from ((f"{name}/{key}", np.asarray(value)) for key, value in numbers.items())
        return
    for path, leaf in leaves(result, name):
        array = as_array(leaf)
        if array is not None:
            yield path, array


def _metrics(model: Any, count: int) -> list[str]:
    names: list[str] = []
    for metric in getattr(model, "metrics", ()):
        names += [str(one.name) for one in getattr(metric, "metrics", ()) or (metric,)]
    if len(names) == count - 1:  # an old model does not count its loss among them
        names = ["loss", *names]
    return names if len(set(names)) == count else ["loss", *map(str, range(1, count))]
