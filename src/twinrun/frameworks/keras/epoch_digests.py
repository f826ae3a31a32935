"""`twinrun.EpochDigests`: digests of all variables after each epoch, in the tracker that the run is in anyway. Two such runs
can be compared later (`twinrun diff`), whatever they were made for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np

from twinrun import trackers
from twinrun.errors import UsageError
from twinrun.frameworks.keras.model_variables import model_variables
from twinrun.recording.digest import digest_array
from twinrun.terminal import say
from twinrun.trackers.epoch_files import LAST, Epoch


class EpochDigests(keras.callbacks.Callback):  # type: ignore[misc]
    """A callback for `fit`: `callbacks=[twinrun.EpochDigests("mlflow")]`, or `"wandb"`, logs to the active run, and
    `EpochDigests("tensorboard", folder=log_dir)` to that of the callback TensorBoard. A tracker that fails is reported, and
    training continues without it."""

    def __init__(self, tracker: str, folder: str | None = None) -> None:
        super().__init__()
        if (tracker == "tensorboard") != (folder is not None):
            raise UsageError(
                "EpochDigests takes a folder for tensorboard, and for no other tracker",
                hint='twinrun.EpochDigests("tensorboard", folder="logs/run1")',
            )
        self._tracker = trackers.tracker(tracker)
        self._title = trackers.TITLES[tracker]
        self._folder = folder
        self._run: trackers.TrackedRun | None = None
        self._epoch: int | None = None  # that have ended, over all calls of fit
        self._failed = False

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if self._epoch is None:
            self._epoch = epoch
            self._log({})

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        self._epoch = (self._epoch or 0) + 1
        self._log(logs or {})

    def _metrics(self, logs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """The metrics of the model. Other callbacks may add what differs in any two runs: the time that an epoch took."""
        # Before training there are none, and some metrics cannot be asked then.
        known = self.model.get_metrics_result() if logs else ()
        for name in sorted(logs):
            if name.removeprefix("val_") in known:
                values = np.asarray(logs[name], dtype=float)
                for index, value in np.ndenumerate(values):  # one for each class, where there are several
                    yield f"{name}[{','.join(map(str, index))}]" if index else name, repr(float(value))

    def _log(self, logs: Mapping[str, Any]) -> None:
        if self._failed:
            return
        assert self._epoch is not None
        try:
            epoch = Epoch(self._epoch, tuple(_digests(self.model)), dict(self._metrics(logs)))
            if self._run is None:
                self._run = self._tracker.current_run(self._folder)
            self._run.file(epoch.file, epoch.as_json())
            self._run.file(LAST, str(epoch.epoch))
            self._run.labels({"twinrun.digest": epoch.digest}, epoch.epoch)
        except Exception as problem:
            self._failed = True
            say(
                f"warning: twinrun.EpochDigests could not log to {self._title}, and does not try again: {problem}\n"
                f"hint: {self._tracker.hint()}"
            )


def _digests(model: Any) -> Iterator[tuple[str, str]]:
    """Names are made distinct: nothing keeps two variables from having the same path."""
    seen: Counter[str] = Counter()
    for variable in model_variables(model):
        name = str(variable.path)
        seen[name] += 1
        if seen[name] > 1:
            name = f"{name} ({seen[name]})"
        yield name, f"{digest_array(keras.ops.convert_to_numpy(variable)):016x}"
