"""Gradient descent on tensors that no variable holds. Nothing tells where such a tensor is updated: `w = w - 0.1 * g` is
arithmetic like any other. So what was computed stands for the update: a round is what led to the gradients of one tape,
or one call of a tf.function that takes such gradients.

A round is a step of its own, unless variables are updated after it: then it was a part of that step, as a gradient penalty
or an adversarial example is."""

from __future__ import annotations

import weakref
from typing import Any

from tensorflow.python.eager import record as tapes

from twinrun.frameworks.tensorflow.pending import Pending
from twinrun.frameworks.tensorflow.tensors import block
from twinrun.twin.recorder import Recorder
from twinrun.twin.steps import Steps

_MOST_ROUNDS = 64  # that one update of variables may have


class PlainTensors:
    def __init__(self, recorder: Recorder, pending: Pending, steps: Steps) -> None:
        self._recorder = recorder
        self._pending = pending
        self._steps = steps
        self._tape: weakref.ref[Any] | None = None  # of the last round
        self._alone = -1  # the step at which rounds were found to be steps, and not parts of one

    def on_gradients(self, tape: Any, gradients: Any, *, variables: bool) -> None:
        """Gradients were taken eagerly. Those that another tape records are on the way to its own. `variables`: there are
        some that could be updated."""
        self._pending.add(block("gradient", gradients, "gradient"))
        records_itself = getattr(tape, "_persistent", True) and tape._recording
        if records_itself or not tapes.could_possibly_record():
            self.on_round(tape, variables=variables)

    def on_round(self, tape: Any, *, variables: bool) -> None:
        goes_on = tape is not None and self._tape is not None and self._tape() is tape
        waits = variables and self._alone != self._recorder.step
        if not goes_on and len(self._pending.rounds) >= (_MOST_ROUNDS if waits else 1):
            self.end()
            self._alone = self._recorder.step
        self._pending.end_round(goes_on=goes_on)
        self._tape = None if tape is None else weakref.ref(tape)

    def before_variables(self) -> None:
        """Gradients of variables are asked for. After rounds that were steps, the last one is no part of what follows."""
        if self._alone == self._recorder.step:
            self.end()

    def end(self) -> None:
        """No variable was updated: each round so far was a step."""
        rounds, self._pending.rounds = self._pending.rounds, []
        if rounds:
            self._steps.close()
        for blocks in rounds:
            self._steps.about_to_update(())
            for one in blocks:
                self._recorder.add(one)
            self._steps.updated(self)
            self._steps.close()
