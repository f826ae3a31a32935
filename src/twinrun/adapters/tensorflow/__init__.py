"""The TensorFlow adapter: variables, tf.function calls, gradient tapes and dataset iterators, seen from outside the step."""

from __future__ import annotations

from twinrun.launch.watch import Watch


def attach(watch: Watch) -> None:
    from twinrun.adapters.tensorflow.observer import observer_for

    observer_for(watch)
