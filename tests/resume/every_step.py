"""Run by test_resume_state.py: one model, trained through once. Then what a kill after each step would have left is resumed
from in turn, with all that the process holds scrambled before. Forty processes would take as many minutes of imports."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import twinrun
from twinrun.errors import UsageError

EPOCHS, BATCHES = 8, 5
FILE = Path("state.npz")


class Stopped(Exception):
    pass


class Keep(keras.callbacks.Callback):
    """What a run leaves that is killed after each step, before the next one."""

    def __init__(self) -> None:
        super().__init__()
        self.left: list[bytes] = []
        self.begun = False

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if self.begun:
            self.left.append(FILE.read_bytes())
        self.begun = True


class Losses(keras.callbacks.Callback):
    """What a step reports, and random numbers that a program may draw beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        drawn = (random.random(), np.random.random(), float(tf.random.uniform([])))
        self.seen.append((*sorted(logs.items()), *drawn))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.seen.append(sorted(logs.items()))


x = np.linspace(-1.0, 1.0, 40 * 4, dtype="float32").reshape(40, 4)
ds = tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1, keepdims=True))).shuffle(40).batch(8)
ds = twinrun.repeatable(ds, seed=5)
keras.utils.set_random_seed(3)
model = keras.Sequential(
    [keras.Input((4,)), keras.layers.Dense(6), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
)
model.compile(
    keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(0.01, 5, 0.9)), "mse", metrics=["mae"]
)
model.optimizer.build(model.trainable_variables)


def variables() -> list[Any]:
    return [*model.variables, *model.optimizer.variables]


def scramble() -> None:
    for variable in variables():
        variable.assign(tf.cast(tf.random.uniform(variable.shape, maxval=100), variable.dtype))
    keras.utils.set_random_seed(random.randrange(1000))
    model._initial_epoch = None


def fit(state: Any, *callbacks: Any) -> list[Any]:
    losses = Losses()
    model.fit(state.data, epochs=EPOCHS, verbose=0, callbacks=[losses, *callbacks, state])
    return losses.seen


def left() -> list[bytes]:
    return [np.asarray(variable).tobytes() for variable in variables()]


begin = {id(variable): np.asarray(variable) for variable in variables()}


def from_start() -> None:
    FILE.unlink(missing_ok=True)
    for variable in variables():
        variable.assign(
            begin.get(id(variable), np.zeros(variable.shape))
        )  # metrics are made with the first batch
    model._initial_epoch = None
    keras.utils.set_random_seed(11)


def state() -> Any:
    return twinrun.ResumeState(FILE, ds)


from_start()
keep = Keep()
whole, end = fit(state(), keep), left()
assert len(whole) == EPOCHS * BATCHES + EPOCHS and not FILE.exists()
assert len(keep.left) == EPOCHS * BATCHES - 1
for after, found in enumerate(keep.left, start=1):
    scramble()
    FILE.write_bytes(found)
    again = fit(state())
    assert again == whole[-len(again) :], f"differs after a stop at step {after}"
    assert len(again) == len(whole) - after - after // BATCHES, (after, len(again))
    assert left() == end, f"ends elsewhere after a stop at step {after}"


# Ended early, as a handler of SIGTERM does it: in the middle of an epoch, at its end, and where not every step is saved.
class Ends(keras.callbacks.Callback):
    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.left -= 1
        self.model.stop_training = self.left == 0


for after, every in ((3, 1), (5, 1), (12, 5), (39, 100)):
    from_start()
    fit(twinrun.ResumeState(FILE, ds, every=every), Ends(after))
    assert FILE.exists(), f"removed where training was ended after step {after}"
    scramble()
    again = fit(state())
    assert again == whole[-len(again) :] and left() == end, f"differs where it was ended after step {after}"
    assert len(again) == len(whole) - after - after // BATCHES and not FILE.exists()

# Killed in the middle of a save: the file before it is still whole.
from_start()
replace = Path.replace


def killed(partial: Path, file: Path) -> Path:
    if killed.left == 0:  # type: ignore[attr-defined]
        partial.write_bytes(partial.read_bytes()[:100])
        raise Stopped
    killed.left -= 1  # type: ignore[attr-defined]
    return replace(partial, file)


killed.left = 7  # type: ignore[attr-defined]
Path.replace = killed  # type: ignore[assignment,method-assign]
with contextlib.suppress(Stopped):
    fit(state())
Path.replace = replace  # type: ignore[method-assign]
assert FILE.exists() and Path(f".{FILE.name}.partial").stat().st_size == 100
kept = FILE.read_bytes()
scramble()
again = fit(state())
assert again == whole[-len(again) :] and left() == end

refused = 0
for content in (kept[:200], b"", b"not a state", kept.replace(b"schema", b"scheme")):
    FILE.write_bytes(content)
    try:
        fit(state())
    except UsageError as problem:
        assert "remove it to start over" in str(problem)
        refused += 1
FILE.unlink()
print(f"ok: {EPOCHS * BATCHES} steps, {refused} damaged or foreign files")
