"""Measures one workload's step time, recorded and plain, from inside a process that Twinrun starts: short blocks of steps
of all the arms take turns, and the time of every step goes to a JSON file, one for each process.

    twinrun run benchmarks/step_time.py WORKLOAD ROUNDS FOLDER ARM...

The plain arm has a model of its own, built and traced while the recorder is off: all that recording adds to it is the
test whether the recorder is on. The other arms are what people do today.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from models import WORKLOADS, Workload

from twinrun.frameworks.tensorflow.observer import observer_for
from twinrun.twin.recorder import active

_clock = time.clock_gettime  # which Twinrun does not watch
found = active()
assert found is not None, "start this with `twinrun run` or `twinrun check`"
recorder = found


@contextlib.contextmanager
def recording(on: bool) -> Iterator[None]:
    recorder.alive = on
    try:
        yield
    finally:
        recorder.alive = True


class HashWeights(keras.callbacks.Callback):
    """Every weight to NumPy and through sha256 after every step; the optimizer's state is left out."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        for variable in self.model.weights:
            hashlib.sha256(variable.numpy()).hexdigest()


class Arm:
    """A model and a way to train it. Steps are timed from the start of one to the start of the next, with all
    that fit and its callbacks do in between; what fit does before its first step is no part of it."""

    def __init__(self, workload: Workload, model: Any, on: bool, *callbacks: Any, share: int = 1) -> None:
        self.times: list[list[float]] = []  # of each step of each block
        self.cpu: list[float] = []  # mean of each block, all threads of the process together
        self._steps = max(2, workload.steps // share) + 1
        self._model, self._data = model, workload.data()
        self._on, self._callbacks = on, list(callbacks)
        self._starts: list[tuple[float, float]] = []
        self.train(1)
        self._time_starts()

    def train(self, steps: int) -> None:
        with recording(self._on):
            self._model.fit(self._data, steps_per_epoch=steps, verbose=0, callbacks=self._callbacks)

    def block(self) -> None:
        self._starts.clear()
        self.train(self._steps)
        pairs = zip(self._starts[:-1], self._starts[1:], strict=True)
        self.times.append([after[0] - before[0] for before, after in pairs])
        self.cpu.append((self._starts[-1][1] - self._starts[0][1]) / (len(self._starts) - 1))

    def forget(self) -> None:
        self.times.clear()
        self.cpu.clear()

    def _time_starts(self) -> None:
        inner = self._model.train_function
        if getattr(inner, "_timed_by", None) is not None:  # arms may share a model, one at a time
            inner._timed_by.append(self)
            return
        arms = [self]

        def train_function(*args: Any) -> Any:
            now = (_clock(time.CLOCK_MONOTONIC), _clock(time.CLOCK_PROCESS_CPUTIME_ID))
            for arm in arms:
                arm._starts.append(now)
            return inner(*args)

        train_function._timed_by = arms  # type: ignore[attr-defined]
        train_function._twinrun = True  # type: ignore[attr-defined]  # it is wrapped already
        self._model.train_function = train_function


def main() -> None:
    workload, rounds, output = WORKLOADS[sys.argv[1]], int(sys.argv[2]), Path(sys.argv[3])
    keras.utils.set_random_seed(1)
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    with recording(False):
        plain = workload.make()
    recorded = workload.make()
    saving = keras.callbacks.ModelCheckpoint(
        str(folder / "c.weights.h5"), save_weights_only=True, save_freq=1
    )
    makers: dict[str, Callable[[], Arm]] = {
        "plain": lambda: Arm(workload, plain, False),
        "recorded": lambda: Arm(workload, recorded, True),
        "sha256": lambda: Arm(workload, plain, False, HashWeights()),
        "checkpoint": lambda: Arm(workload, plain, False, saving, share=5),
        "tfdbg2": lambda: Arm(workload, debugged(workload.make, workload.data(), folder), False, share=5),
    }
    arms = {name: make() for name, make in makers.items() if name in ("plain", *sys.argv[4:])}
    for number in range(rounds + 1):
        for arm in arms.values():
            arm.block()
            if number == 0:
                arm.forget()  # the first round warms up
    if "host" in sys.argv[4:]:
        # From here on, as if the GPU could digest nothing: this arm cannot take turns with the others.
        observer_for(recorder).variables.digest_on_host("measured")
        arms["host"] = Arm(workload, recorded, True)
        for _ in range(rounds):
            arms["host"].block()
    variables = [v.value for v in (*recorded.weights, *recorded.optimizer.variables)]
    document = {
        "times": {name: arm.times for name, arm in arms.items()},
        "cpu": {name: arm.cpu for name, arm in arms.items()},
        "tensors": len(variables),
        "bytes": sum(int(v.shape.num_elements()) * int(v.dtype.size) for v in variables),
    }
    (output / f"{os.getpid():010}.json").write_text(json.dumps(document))
    shutil.rmtree(folder, ignore_errors=True)


def debugged(make: Callable[[], Any], data: Any, folder: Path) -> Any:
    """A model whose graphs carry tfdbg2's dumping ops: those stay in them when the debugger is switched off
    again, so that it does not touch the other arms."""
    dump = str(folder / "tfdbg2")
    with recording(False):
        tf.debugging.experimental.enable_dump_debug_info(dump, "FULL_TENSOR", circular_buffer_size=100)
        model = make()
        model.fit(data, steps_per_epoch=1, verbose=0)
        tf.debugging.experimental.disable_dump_debug_info()
    return model


main()
