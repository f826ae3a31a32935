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
        self.variables: dict[int, list[bytes]] = {}  # after so many epochs
        self.begun = False

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if self.begun:
            self.left.append(FILE.read_bytes())
        self.begun = True

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.variables[epoch + 1] = left()


class Losses(keras.callbacks.Callback):
    """What a step reports, and random numbers that a program may draw beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        drawn = (random.random(), np.random.random(), float(tf.random.uniform([])))
        numpys = getattr(self.model, "numpys", None)
        own = () if numpys is None else (numpys.random(),)
        self.seen.append((*sorted(logs.items()), *own, *drawn))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.seen.append(sorted(logs.items()))


x = np.linspace(-1.0, 1.0, 40 * 4, dtype="float32").reshape(40, 4)
plain = tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1, keepdims=True))).shuffle(40).batch(8)
ds = twinrun.repeatable(plain, seed=5)
keras.utils.set_random_seed(3)
model = keras.Sequential(
    [keras.Input((4,)), keras.layers.Dense(6), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
)
rate = keras.optimizers.schedules.ExponentialDecay(0.01, 5, 0.9)
model.compile(keras.optimizers.Adam(rate), "mse", metrics=["mae"])
model.optimizer.build(model.trainable_variables)


def variables() -> list[Any]:
    return [*model.variables, *model.optimizer.variables]


def scramble() -> None:
    for variable in variables():
        variable.assign(tf.cast(tf.random.uniform(variable.shape, maxval=100), variable.dtype))
    keras.utils.set_random_seed(random.randrange(1000))


def fit(state: Any, *callbacks: Any, epochs: int = EPOCHS, **options: Any) -> list[Any]:
    losses = Losses()
    model.fit(state.data, epochs=epochs, verbose=0, callbacks=[losses, *callbacks, state], **options)
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
    keras.utils.set_random_seed(11)


def state() -> Any:
    return twinrun.ResumeState(FILE, ds)


from_start()
keep = Keep()
whole, end = fit(state(), keep), left()
assert len(whole) == EPOCHS * BATCHES + EPOCHS and not FILE.exists()
assert len(keep.left) == EPOCHS * BATCHES - 1
seldom = twinrun.ResumeState(
    FILE, ds, every=10**9
)  # goes on from a file, and saves at the ends of epochs alone
for after, found in enumerate(keep.left, start=1):
    # Every eighth to the end, which takes longest; the others through the epoch after, where all that the model holds is compared.
    until = EPOCHS if after % 8 == 1 else min(EPOCHS, after // BATCHES + 2)
    scramble()
    FILE.write_bytes(found)
    again = fit(state() if after % 8 == 1 else seldom, epochs=until)
    begun = after + after // BATCHES
    assert again == whole[begun : until * (BATCHES + 1)], f"differs after a stop at step {after}"
    assert left() == keep.variables[until], f"ends elsewhere after a stop at step {after}"
assert keep.variables[EPOCHS] == end


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


# The epoch of the file counts, the first one too, and not in the next `fit`.
class Epochs(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[int] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.seen.append(epoch)


for after, first in ((2, 0), (7, 1)):
    FILE.write_bytes(keep.left[after - 1])
    epochs = Epochs()
    fit(seldom, epochs, epochs=4, initial_epoch=3)
    model.fit(ds, epochs=2, verbose=0, callbacks=[epochs])
    assert epochs.seen == [*range(first, 4), 0, 1], epochs.seen


# Epochs that are not passes over the data, and data that is not known.
def why_not(state: Any, data: Any, **options: Any) -> str:
    try:
        model.fit(data, verbose=0, callbacks=[state], **options)
    except UsageError as problem:
        return f"{problem} {problem.hint}"
    raise AssertionError("it was taken")


from_start()
for data, steps in ((ds, 3), (ds.repeat(10), 5), (ds.filter(lambda *_: True), 5)):
    finite = twinrun.ResumeState(FILE, data)
    message = why_not(finite, finite.data, epochs=2, steps_per_epoch=steps)
    assert f"an epoch has {steps} steps" in message and "ds.repeat()" in message, message
assert "state.data" in why_not(twinrun.ResumeState(FILE), x, y=x[:, :1])
assert not FILE.exists()
FILE.write_bytes(keep.left[1])
with_steps = state()
message = why_not(with_steps, with_steps.data, epochs=2, steps_per_epoch=BATCHES)
assert "epoch 2 ended after 0 of the 5" in message and "leave steps_per_epoch out" in message, message


# Data without end, whose passes are longer than the epochs; and several steps in one.
def at_every_save(data: Any, executed: int, every: int, **options: Any) -> list[int]:
    """The steps after which it was saved, in an epoch or at its end. It is resumed from each."""

    def anew() -> Any:
        return twinrun.ResumeState(FILE, data(), every=every)

    files: dict[int, bytes] = {}

    class Saved(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            if FILE.exists():
                files[kept.step] = FILE.read_bytes()

    model.compile(model.optimizer, "mse", metrics=["mae"], steps_per_execution=executed)
    from_start()
    kept = anew()
    whole = fit(kept, Saved(), epochs=3, **options)
    end, resumed = left(), anew()
    for step, found in files.items():
        scramble()
        FILE.write_bytes(found)
        again = fit(resumed, epochs=3, **options)
        assert again == whole[-len(again) :] and left() == end, f"differs after a stop at step {step}"
        assert 0 < len(again) < len(whole)
    known = list(files.values())
    return [step for number, step in enumerate(files) if known[number] not in known[:number]]


def endless() -> Any:
    return twinrun.repeatable(plain.repeat(), seed=5)


assert at_every_save(endless, 1, 1, steps_per_epoch=3) == [1, 2, 3, 4, 5, 6, 7, 8]
assert at_every_save(lambda: ds, 2, 3) == [4, 6, 10, 12, 16]


# Optimizers and generators that Keras knows nothing of, in a model that is made anew.
class Two(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = (
            keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, kernel_initializer="ones")])
            for _ in range(2)
        )
        self.one_optimizer, self.others = keras.optimizers.Adam(0.1), {"adam": keras.optimizers.Adam(0.2)}
        self.noise, self.numpys = tf.random.Generator.from_seed(1), np.random.default_rng(1)

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data
        x += self.noise.normal(tf.shape(x))
        losses = {}
        for name, part, optimizer in (
            ("one", self.one, self.one_optimizer),
            ("other", self.other, self.others["adam"]),
        ):
            with tf.GradientTape() as tape:
                losses[name] = tf.reduce_mean((part(x) - y) ** 2)
            gradients = tape.gradient(losses[name], part.trainable_variables)
            optimizer.apply_gradients(zip(gradients, part.trainable_variables, strict=True))
        return losses


def two(after: int) -> list[Any]:
    """The losses of each step and what NumPy's generator gave, ended after so many of them."""
    made, losses, ours = Two(), Losses(), state()
    made.compile()
    callbacks = [losses, Ends(after), ours]
    made.fit(ours.data, epochs=2, verbose=0, callbacks=callbacks)
    return [step[:3] for step in losses.seen if len(step) > 2]


FILE.unlink(missing_ok=True)
alone = two(-1)
assert [*two(7), *two(-1)] == alone and len(alone) == 2 * BATCHES

print(f"ok: {EPOCHS * BATCHES} steps, {refused} damaged or foreign files")
