"""Gradients that the program takes, and what they announce where no optimizer does: a manual update of the variables that
they are taken of, or a step on tensors that no variable holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tensorflow.python.eager import context
from tensorflow.python.eager import record as tapes

from twinrun.frameworks.tensorflow.manual_update import ManualUpdates, Target
from twinrun.frameworks.tensorflow.plain_tensors import PlainTensors
from twinrun.frameworks.tensorflow.summarize import flat, named_arguments, output_blocks
from twinrun.frameworks.tensorflow.tensors import block, block_of
from twinrun.frameworks.tensorflow.updater import Call, Given

if TYPE_CHECKING:
    from twinrun.frameworks.tensorflow.observer import Observer


class Gradients:
    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self.steps, self.pending, self.guard = observer.steps, observer.pending, observer.guard
        self._manual = ManualUpdates()
        self._plain = PlainTensors(observer.recorder, observer.pending, observer.steps)
        self._optimizers = False  # whether one was ever used

    # what the points report

    def gradient(
        self, original: Callable[..., Any], tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any
    ) -> Any:
        plain = False
        with self.guard:
            plain = self._on_gradients(target, sources)
        result = original(tape, target, sources, *args, **kwargs)
        if plain:
            with self.guard:
                self._plain.on_gradients(tape, result, variables=self._observer.variables.any)
        return result

    def jacobian(
        self, original: Callable[..., Any], tape: Any, target: Any, source: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Works by a tf.function of its own, which is no call of the program's."""
        stack = self._observer.here.calls
        stack.append(Call())
        try:
            return self.gradient(original, tape, target, source, *args, **kwargs)
        finally:
            stack.pop()

    def on_forward_gradients(self, result: Any, accumulator: Any, *_: Any, **__: Any) -> None:
        """Note forward gradients, whatever the accumulator was made for: what becomes of them is not known."""
        if context.executing_eagerly():
            self._plain.on_gradients(accumulator, result, variables=self._observer.variables.any)

    def on_symbolic_gradients(self, result: Any, targets: Any, sources: Any, *_: Any, **__: Any) -> None:
        """`tf.gradients` in a tf.function. In a graph of TensorFlow 1, its runs tell."""
        if self._observer.under_way():
            self._on_traced_gradients(sources)

    # what they announce

    def _on_traced_gradients(self, sources: Any) -> None:
        given = flat(sources)
        trained = [source for source in given if hasattr(source, "handle")]
        for call in self._observer.under_way():
            call.sources = trained or call.sources
            call.plain = call.plain or len(trained) < len(given)
        if trained and not self.steps.open:
            self.steps.about_to_update(())
        self._manual.expect(self._manual.targets(trained))

    def _on_gradients(self, target: Any, sources: Any) -> bool:
        """A tape is asked for gradients. Eagerly, its target is the loss; without an optimizer, its sources may be about
        to be updated manually. Returns whether some of them are plain tensors, and the gradients are worth a look."""
        if not context.executing_eagerly():
            self._on_traced_gradients(sources)
            return False
        given = flat(sources)
        trained = [source for source in given if hasattr(source, "handle")]
        self.look_for_manual_updates()
        if trained:
            self._plain.before_variables()
        self.pending.add(
            block("loss", target if isinstance(target, (list, tuple, dict)) else {"loss": target})
        )
        targets = self._manual.targets(trained)
        if targets:
            self.steps.about_to_update(targets)
            self._expect(targets)
        return len(trained) < len(given)

    def _expect(self, targets: list[Target]) -> None:
        if targets:
            self._manual.expect(targets)
            self.pending.mark()

    def before_call(self, record: Call) -> None:
        """Before a tf.function that takes gradients and has no optimizer. One that moves what it takes them of is a step
        itself; before another, the update that followed its last call is over."""
        if not record.moves:
            self.look_for_manual_updates()
        targets = self._manual.targets(record.sources)
        if targets:
            self.steps.about_to_update(targets)

    def moved_by(self, record: Call) -> list[Target]:
        targets = self._manual.targets(record.sources)
        moved = self._manual.moved(targets) if targets else []
        record.moves = record.moves or bool(moved)
        return moved

    def look_for_manual_updates(self) -> None:
        moved = self._manual.moved() if self._manual.expected else []
        if moved:
            self.pending.flush_marked()
            self.updated_manually(moved)

    def updated_manually(self, moved: list[Target]) -> None:
        """A step of its own; where there are optimizers too, part of a round with them."""
        for one in moved:
            self.steps.updated(one)
        if not self._optimizers:
            self.steps.close()

    def after_call(self, record: Call, given: Given, result: Any) -> None:
        """Look at a tf.function that has updated nothing. What it takes gradients of may be updated next."""
        if record.sources:
            if not any(one.phase == "batch" for one in self.pending.blocks):
                self.pending.add(block_of("batch", named_arguments(*given)))
            self._expect(self._manual.targets(record.sources))
        elif record.plain and not record.updaters and not self._observer.evaluations.under_way:
            for one in (block_of("batch", named_arguments(*given)), *output_blocks(result)):
                self.pending.add(one)
            if not tapes.could_possibly_record():
                self._plain.on_round(None, variables=self._observer.variables.any)

    def on_optimizer(self, variables: Iterable[Any]) -> None:
        """It is about to update these, and nobody does so manually."""
        self._optimizers = True
        if self._manual.expected:
            self._manual.optimized(variables)

    def settle(self) -> None:
        """What was announced has come to pass, or never will."""
        self.look_for_manual_updates()
        self._plain.end()
