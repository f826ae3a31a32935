"""`twinrun.ResumeState`: all that a training run needs to go on where it was stopped, bit for bit, in one file that is
whole or not there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from twinrun.errors import UsageError
from twinrun.frameworks.keras.model_variables import metric_variables, model_optimizers, model_variables
from twinrun.frameworks.keras.random_states import (
    generator_states,
    random_states,
    restore_generators,
    restore_random_states,
)
from twinrun.frameworks.keras.state_file import read_state, write_state

# In place of True, which others set to end training.
_EPOCH_DONE = "the epoch that was resumed has no more batches"


class _Epoch(int):
    """Keras takes `model._initial_epoch or initial_epoch`: the first epoch counts too."""

    def __bool__(self) -> bool:
        return True


class ResumeState(keras.callbacks.Callback, tf.train.experimental.PythonState):  # type: ignore[misc]
    """A callback for `fit`, to be the last one: `fit(state.data, callbacks=[…, state])`. After every so many batches, and at the
    end of each epoch, it writes the model, its optimizers, the metrics, the random states and the position in the data to
    `file`. Where the file is there when training begins, training goes on from it; after the last epoch it is removed.

    For a loop of your own: `tf.train.Checkpoint(model=model, optimizer=optimizer, state=state)` saves and restores the random
    states and the position in the data with the rest, for `for epoch in state.epochs(n): for batch in state.batches(): …`.
    Give it the model, whose seed generators a tf.train.Checkpoint leaves out.

    `data` is a tf.data.Dataset, made repeatable (`twinrun.repeatable`) unless it is already. An epoch of `fit` is one pass over
    it; only data without end (`ds.repeat()`) goes with `steps_per_epoch`."""

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
        generators = generator_states(self._seeded) if self._seeded is not None else {}
        return json.dumps({**self._counted(), "seeds": seeds, "generators": generators}).encode()

    def deserialize(self, string_value: bytes) -> None:
        """For tf.train.Checkpoint."""
        known = json.loads(string_value)
        _assign(_seed_states(self._seeded), known["seeds"])
        self._set(known)
        if self._seeded is not None:
            restore_generators(self._seeded, known.get("generators", {}))

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

    def set_model(self, model: Any) -> None:
        if not isinstance(model, keras.Model):
            raise UsageError(
                "ResumeState is a callback for models of Keras 3, and this one is not",
                hint="in a loop of your own, ResumeState(data=ds) can be part of a tf.train.Checkpoint",
            )
        super().set_model(model)

    def on_train_begin(self, logs: Any = None) -> None:
        from twinrun.pipelines.make_repeatable import set_epoch

        if self.file is None:
            raise UsageError("ResumeState has no file", hint='twinrun.ResumeState("state.npz", ds)')
        if self.data is None:
            raise UsageError(
                "ResumeState has no data: which batches come next, and in which order, could not be restored",
                hint='state = twinrun.ResumeState("state.npz", ds), and fit(state.data, …), where arrays are\n'
                "ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).batch(32)",
            )
        if not self._endless and self.params["steps"] != self._batches:
            raise UsageError(_not_one_pass(self.params["steps"], self._batches), hint=_ONE_PASS)
        self._metrics = None
        self.epoch = self.position = self.step = 0
        if self.file.exists():
            self._load(self.file)
            self.model._initial_epoch = _Epoch(self.epoch)  # as BackupAndRestore does
        if self._endless:  # iterated once, not once an epoch
            set_epoch(self._dataset, 0)
            self._skip, self._batches = self.step, self.params["steps"]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.model._initial_epoch = None  # Keras has taken it, and would take it in the next `fit` too
        resumed = epoch == self.epoch and self.position > 0
        self.epoch, self.position = epoch, self.position if resumed else 0
        self._before = self.position
        if not self._endless:
            self._begin(self.position)
        if resumed and self._metrics is not None:
            _assign(metric_variables(self.model), self._metrics)
        self._metrics = None

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        done, before = self._before + batch + 1, self.step
        self.step += done - self.position
        self.position = done
        if self._batches is None:  # how many batches an epoch has is not known: only its end can be saved
            return
        due = self.step // self.every > before // self.every  # of several steps in one, any may be the one
        if done < self._batches and (due or self.model.stop_training):
            self._save()
        if done >= self._batches and self._before and not self.model.stop_training:
            # Keras would ask for as many batches as a whole epoch has, and its optimizer counts those that there are not.
            self.model.stop_training = _EPOCH_DONE

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self.model.stop_training is _EPOCH_DONE:
            self.model.stop_training = False
        if self.model.stop_training and (self._batches is None or self.position < self._batches):
            return  # in the middle of it: the file holds a state from which the rest can be done
        if self._batches is not None and self.position < self._batches:
            ran_out = (
                f"epoch {epoch + 1} ended after {self.position} of the {self._batches} batches of the data"
            )
            raise UsageError(ran_out, hint=_ONE_PASS)
        self.epoch, self.position = epoch + 1, 0
        self._save()

    def on_train_end(self, logs: Any = None) -> None:
        self.model._initial_epoch = None  # where no epoch was left
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
            "variables": len(variables),
            "optimizers": _trained(self.model),
            "generators": generator_states(self.model),
            **self._counted(),
        }
        write_state(self.file, about, arrays)

    def _load(self, file: Path) -> None:
        about, arrays = read_state(file)
        layers = self.model._flatten_layers(include_self=False)
        if not self.model.built and not all(layer.built for layer in layers):
            raise UsageError(
                "the model has no variables yet to restore into",
                hint="give its first layer a shape: keras.Input((4,))",
            )
        _build_optimizers(self.model, about["optimizers"])
        count = about["variables"]
        if len(metric_variables(self.model)) < len(arrays) - count:
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
        restore_generators(self.model, about.get("generators", {}))

    def _build_metrics(self) -> None:
        """Metrics make their variables when they see the first batch, which is too late to restore them."""
        spec = self.data.element_spec if self.data is not None else None
        if spec is not None:
            batch = tf.nest.map_structure(
                lambda one: keras.KerasTensor(tuple(one.shape), one.dtype.name), spec
            )
            self.model._symbolic_build(data_batch=batch)


_ONE_PASS = (
    "leave steps_per_epoch out, so that an epoch is one pass over the data; or give ResumeState data\n"
    "without end: ds.repeat(), without a number"
)


def _not_one_pass(steps: int | None, batches: int | None) -> str:
    """Keras goes on in the same pass with the next epoch, or starts another one: where, a restart cannot tell."""
    has = "a number of batches that TensorFlow does not know" if batches is None else f"{batches} batches"
    return (
        f"an epoch has {steps} steps, and the data {has}: ResumeState cannot tell where in it an epoch begins"
    )


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


def _trained(model: Any) -> dict[str, list[int] | None]:
    """The optimizers, each with what it trains, as places among the model's variables: it has slots for these. None where it
    has not been built."""
    places = {id(variable): place for place, variable in enumerate(model.variables)}
    return {
        name: [places.get(id(each), -1) for each in one._trainable_variables] if one.built else None
        for name, one in model_optimizers(model).items()
    }


def _build_optimizers(model: Any, trained: dict[str, list[int] | None]) -> None:
    """Those that were built when the state was saved, so that there is something to restore into."""
    variables = model.variables
    for name, one in model_optimizers(model).items():
        places = trained.get(name)
        if one.built or places is None:
            continue
        if not all(0 <= place < len(variables) for place in places):
            raise UsageError(
                f"the model's {name} has no slots yet to restore into, and trains variables that are not the model's",
                hint=f"build it before fit: model.{name}.build(variables)",
            )
        one.build([variables[place] for place in places])


def _assign(variables: list[Any], arrays: Sequence[Any]) -> None:
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)
