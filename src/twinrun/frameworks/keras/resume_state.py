"""`twinrun.ResumeState`: all that a training run needs to go on where it was stopped, bit for bit, in one file that is
whole or not there."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from twinrun.errors import UsageError
from twinrun.frameworks.keras.model_variables import metric_variables, model_variables
from twinrun.frameworks.keras.random_states import random_states, restore_random_states

_SCHEMA = 1
# In place of True, which others set to end training.
_EPOCH_DONE = "the epoch that was resumed has no more batches"


class ResumeState(keras.callbacks.Callback, tf.train.experimental.PythonState):  # type: ignore[misc]
    """A callback for `fit`, to be the last one: `fit(state.data, callbacks=[…, state])`. After every so many batches, and at the
    end of each epoch, it writes the model, the optimizer, the metrics, the random states and the position in the data to
    `file`. Where the file is there when training begins, training goes on from it; after the last epoch it is removed.

    For a loop of your own: `tf.train.Checkpoint(model=model, optimizer=optimizer, state=state)` saves and restores the random
    states and the position in the data with the rest, for `for epoch in state.epochs(n): for batch in state.batches(): …`.
    Give it the model, whose seed generators a tf.train.Checkpoint leaves out.

    `data` is a tf.data.Dataset, made repeatable (`twinrun.repeatable`) unless it is already."""

    def __init__(
        self,
        file: str | os.PathLike[str] | None = None,
        data: Any = None,
        *,
        every: int = 1,
        seed: int = 42,
        model: Any = None,
    ) -> None:
        keras.callbacks.Callback.__init__(self)
        if every < 1:
            raise UsageError(f"ResumeState: every must be at least 1, not {every}")
        self.file = None if file is None else Path(file)
        self.every = every
        self._seeded = model
        self.epoch = 0  # that is under way
        self.position = 0  # batches of it that were used
        self.step = 0  # batches used in all
        self._skip = 0  # in the epoch that begins next
        self._before = 0  # batches of this epoch that were used before the program was started
        self._metrics: list[np.ndarray] | None = None  # to be restored once the epoch has begun
        self._dataset: Any = None
        self.data: Any = None
        self._batches: int | None = None  # of an epoch
        if data is not None:
            self._dataset, self.data, self._batches = _resumable(data, seed, self)

    # a loop of the user's own

    def epochs(self, count: int) -> Iterator[int]:
        """The epochs that are left of so many."""
        while self.epoch < count:
            yield self.epoch

    def batches(self) -> Iterator[Any]:
        """The batches that are left of the epoch. Each counts as used once it is handed out."""
        if self.data is None:
            raise UsageError("this ResumeState has no data", hint="state = twinrun.ResumeState(data=ds)")
        self._begin(self.position)
        for batch in self.data:
            self.position += 1
            self.step += 1
            yield batch
        self.epoch, self.position = self.epoch + 1, 0

    def serialize(self) -> bytes:
        """For tf.train.Checkpoint."""
        seeds = [np.asarray(state).tolist() for state in _seed_states(self._seeded)]
        return json.dumps({**self._counted(), "seeds": seeds}).encode()

    def deserialize(self, string_value: bytes) -> None:
        """For tf.train.Checkpoint."""
        known = json.loads(string_value)
        _assign(_seed_states(self._seeded), known["seeds"])
        self._set(known)

    def _counted(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "position": self.position, "step": self.step, "random": random_states()}

    def _set(self, known: dict[str, Any]) -> None:
        self.epoch, self.position, self.step = known["epoch"], known["position"], known["step"]
        restore_random_states(known["random"])

    def _begin(self, skip: int) -> None:
        """The next iteration of the data is that of this epoch, without its first batches."""
        from twinrun.pipelines.make_repeatable import set_epoch

        self._skip = skip
        if self._dataset is not None:
            set_epoch(self._dataset, self.epoch)

    # fit

    def on_train_begin(self, logs: Any = None) -> None:
        if self.file is None:
            raise UsageError("ResumeState has no file", hint='twinrun.ResumeState("state.npz", ds)')
        self._metrics = None
        self.epoch = self.position = self.step = 0
        if self.file.exists():
            self._load(self.file)
            self.model._initial_epoch = self.epoch  # as BackupAndRestore does
        if self._endless:  # iterated once, not once an epoch
            self._skip, self._batches = self.step, self.params["steps"]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        resumed = epoch == self.epoch and self.position > 0
        self.epoch, self.position = epoch, self.position if resumed else 0
        self._before = self.position
        if not self._endless:
            self._begin(self.position)
        if resumed and self._metrics is not None:
            _assign(metric_variables(self.model), self._metrics)
        self._metrics = None

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        done = self._before + batch + 1
        self.step += done - self.position
        self.position = done
        if self._batches is None:  # how many batches an epoch has is not known: only its end can be saved
            return
        if done < self._batches and (self.step % self.every == 0 or self.model.stop_training):
            self._save()
        if done >= self._batches and self._before and not self.model.stop_training:
            # Keras would ask for as many batches as a whole epoch has, and its optimizer counts those that there are not.
            self.model.stop_training = _EPOCH_DONE

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self.model.stop_training is _EPOCH_DONE:
            self.model.stop_training = False
        if self.model.stop_training and (self._batches is None or self.position < self._batches):
            return  # in the middle of it: the file holds a state from which the rest can be done
        self.epoch, self.position = epoch + 1, 0
        self._save()

    def on_train_end(self, logs: Any = None) -> None:
        # Training that was ended early (`model.stop_training`, by a handler of SIGTERM say) can go on from the file.
        if self.file is not None and self.epoch >= self.params["epochs"]:
            self.file.unlink(missing_ok=True)

    @property
    def _endless(self) -> bool:
        return self._dataset is not None and int(self._dataset.cardinality()) == tf.data.INFINITE_CARDINALITY

    # the file

    def _save(self) -> None:
        """The old file stays until the new one is whole, also on the disk."""
        assert self.file is not None
        variables, metrics = model_variables(self.model), metric_variables(self.model)
        arrays = [np.asarray(variable) for variable in (*variables, *metrics)]
        about = {
            "schema": _SCHEMA,
            "variables": len(variables),
            "arrays": [[array.dtype.name, array.shape] for array in arrays],
            **self._counted(),
        }
        packed = io.BytesIO()
        held: dict[str, Any] = {
            "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
            **_as_bytes(arrays),
        }
        np.savez(packed, **held)
        _replace(self.file, packed.getbuffer())

    def _load(self, file: Path) -> None:
        about, arrays = _read(file)
        if not self.model.built:
            raise UsageError(
                "the model has no variables yet to restore into",
                hint="give its first layer a shape: keras.Input((4,))",
            )
        if self.model.optimizer is not None and not self.model.optimizer.built:
            self.model.optimizer.build(self.model.trainable_variables)
        count = about["variables"]
        if count < len(arrays):
            self._build_metrics()
        variables = model_variables(self.model)
        if [tuple(array.shape) for array in arrays[:count]] != [tuple(each.shape) for each in variables]:
            message = f"{file} holds the state of another model"
            raise UsageError(
                message, hint="remove it to start over, or train the model that it was saved from"
            )
        _assign(variables, arrays[:count])
        self._metrics = arrays[count:]
        self._set(about)

    def _build_metrics(self) -> None:
        """Metrics make their variables when they see the first batch, which is too late to restore them."""
        spec = self.data.element_spec if self.data is not None else None
        if spec is not None and not metric_variables(self.model, built=True):
            batch = tf.nest.map_structure(
                lambda one: keras.KerasTensor(tuple(one.shape), one.dtype.name), spec
            )
            self.model._symbolic_build(data_batch=batch)


def _resumable(data: Any, seed: int, state: ResumeState) -> tuple[Any, Any, int | None]:
    """The repeatable dataset, the same from the position of the state on, and how many batches it has, where known."""
    from twinrun.pipelines import repeatable
    from twinrun.pipelines.make_repeatable import made_by_us

    dataset = data if made_by_us(data) is not None else repeatable(data, seed)

    def rest(_: Any) -> Any:
        return dataset.skip(tf.numpy_function(lambda: np.int64(state._skip), [], tf.int64))

    made = tf.data.Dataset.from_tensors(0).flat_map(rest).with_options(dataset.options())
    count = int(dataset.cardinality())
    if count != tf.data.UNKNOWN_CARDINALITY:
        # What Keras takes for the length of every epoch; only the first one after a restart has fewer.
        made.cardinality = lambda: tf.constant(count, tf.int64)
    return dataset, made, count if count >= 0 else None


def _seed_states(model: Any) -> list[Any]:
    """The states of the seed generators in a model."""
    found = model.variables if model is not None else ()
    return [one for one in found if one.path.rpartition("/")[2] == "seed_generator_state"]


def _assign(variables: list[Any], arrays: Sequence[Any]) -> None:
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)


def _as_bytes(arrays: list[np.ndarray]) -> dict[str, np.ndarray]:
    """NumPy's files know only its own types."""
    return {
        f"a{number}": np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        for number, array in enumerate(arrays)
    }


def _read(file: Path) -> tuple[dict[str, Any], list[np.ndarray]]:
    import ml_dtypes

    try:
        with np.load(file, allow_pickle=False) as held:
            about = json.loads(held["about"].tobytes())
            if about["schema"] != _SCHEMA:
                raise ValueError(f"schema {about['schema']}")
            arrays = []
            for number, (name, shape) in enumerate(about["arrays"]):
                kind = np.dtype(getattr(ml_dtypes, name, name))
                arrays.append(np.frombuffer(held[f"a{number}"].tobytes(), kind).reshape(shape))
    except (ValueError, KeyError, OSError, EOFError, TypeError, zipfile.BadZipFile) as problem:
        hint = "remove it to start over"
        raise UsageError(f"{file} is not a state that ResumeState has saved: {problem}", hint=hint) from None
    return about, arrays


def _replace(file: Path, content: memoryview) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.partial")
    with partial.open("wb") as written:
        written.write(content)
        written.flush()
        os.fsync(written.fileno())
    partial.replace(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
