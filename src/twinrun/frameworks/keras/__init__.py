"""Keras 3 on its TensorFlow backend: fit, train_on_batch, optimizers, and names for variables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from twinrun.frameworks.keras.patches import POINTS
from twinrun.frameworks.keras.sources import SOURCES
from twinrun.frameworks.protocol import Framework
from twinrun.protocol.point import Point

if TYPE_CHECKING:
    from twinrun.twin.recorder import Recorder

# `4/4 ━━━━ 0s 12ms/step - loss: 0.3`, `4/4 [====] - 0s 12ms/step`, `4/4 - 0s - 12ms/step`
_PROGRESS = re.compile(
    r"\s*\d+/(\d+|Unknown)\s+(?:\[?[━=>.]{5,}\]?\s+(?:-\s+)?|-\s+)(?:ETA:\s*)?(?:\d[\d:]*(?:s|ms|us)\b|\d+:\d\d)"
)
SHUFFLERS = ("split_dataset", "dataset_from_directory", "dataset_from_array")


class Keras(Framework):
    name = "Keras"
    module = "keras"
    sources = SOURCES
    points = POINTS
    packages = ("keras",)
    shufflers = SHUFFLERS

    def attach(self, recorder: Recorder) -> Sequence[Point]:
        import keras

        backend = keras.backend.backend()
        if backend == "tensorflow":
            return self.points
        recorder.note(f"Keras runs on {backend}; only its TensorFlow backend is watched")
        return ()

    def why_no_step(self, recorder: Recorder) -> str | None:
        import keras

        backend = keras.backend.backend()
        if backend != "tensorflow":
            return f"Keras ran on the {backend} backend, which Twinrun does not watch"
        return why_fit_made_no_step(recorder)

    def is_progress(self, line: str) -> bool:
        """In the words of tf_keras too."""
        return _PROGRESS.match(line) is not None


def why_fit_made_no_step(recorder: Recorder) -> str | None:
    from twinrun.frameworks.tensorflow.observer import observer_for

    batches = observer_for(recorder).fit_batches
    if batches is None:
        return None
    return "fit was called and saw no batch (0 rows?)" if batches == 0 else "fit updated no weight"
