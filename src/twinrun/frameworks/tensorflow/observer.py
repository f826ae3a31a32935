"""What TensorFlow does, reported to the recorder: which calls train, on what data, with what result. A step is seen from
outside, by the arguments, results and variables of the outermost call; nothing is added to the step's own graph."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tensorflow.python.eager import context
from tensorflow.python.eager import record as tapes

from twinrun.frameworks.tensorflow import loops
from twinrun.frameworks.tensorflow.manual_update import ManualUpdates, Target
from twinrun.frameworks.tensorflow.sessions import Sessions
from twinrun.frameworks.tensorflow.summarize import (
    as_number,
    flat,
    named_arguments,
    named_block,
    output_blocks,
)
from twinrun.frameworks.tensorflow.tensors import block, folded, leaves, size_of_block
from twinrun.frameworks.tensorflow.updater import Call, Updater
from twinrun.frameworks.tensorflow.variables import Variables
from twinrun.twin.recorder import Block, Recorder
from twinrun.twin.steps import Steps

_KEPT_ELEMENTS = 10_000  # beyond this many, one digest stands for all the rest
_KEPT_BYTES = 256 << 20  # beyond this, only digests are kept, and no values


@dataclass(frozen=True)
class Drawn(Block):
    """An element of a dataset, and where it was drawn from."""

    iterator: weakref.ref[Any] | None = None


class Observer:
    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.variables = Variables()
        recorder.omitted = self.variables.omitted
        self.steps = Steps(recorder, self._add_state, self._add_created)
        self.pending: list[Block] = []  # seen since the last update, on the way to the next
        # Seen inside a training call, each with its place in the graph.
        self.pending_graph: list[tuple[int, Block]] = []
        self.updaters: weakref.WeakKeyDictionary[Any, Updater] = weakref.WeakKeyDictionary()
        self._train_calls = 0  # of a framework's own train function, under way now
        self._outermost: Call | None = None
        self._outer_args: tuple[Any, Any, Any] | None = None
        self._kept_bytes = 0
        self._here = threading.local()
        self._optimizers = False  # whether one was ever used
        self._manual = ManualUpdates()
        self._announced = 0  # so many of the pending blocks belong to the manual update that is expected
        recorder.at_finish.append(self._finish)
        self.sessions = Sessions(recorder)

    # tf.function

    def call(self, function: Any, args: Any, kwargs: Any, original: Callable[..., Any]) -> Any:
        self.variables.release_dead()
        record: Call = function.__dict__.setdefault("_twinrun_call", Call())
        stack: list[Call] = self._here.__dict__.setdefault("calls", [])
        eager = context.executing_eagerly()
        if eager and not stack:
            return self._outer_call(function, record, args, kwargs, original, stack)
        depth = 0 if eager else loops.depth()
        record.depth = depth
        stack.append(record)
        try:
            result = original(function, *args, **kwargs)
        finally:
            stack.pop()
        if record.updaters and not eager:
            self._mark(record.updaters, stack)
            if depth > (stack[-1].depth if stack else 0):
                loops.insert(self, (function, args, kwargs))
        return result

    def _outer_call(
        self, function: Any, record: Call, args: Any, kwargs: Any, original: Any, stack: list[Call]
    ) -> Any:
        if record.updaters:
            self.steps.about_to_update(record.updaters)
        elif record.sources:
            self._before_gradient_call(record)
        stack.append(record)
        record.depth = 0
        self._outermost, self._outer_args = record, (function, args, kwargs)
        try:
            result = original(function, *args, **kwargs)
        finally:
            stack.pop()
            self._outermost, self._outer_args = None, None
        try:
            self._after_outer_call(function, record, args, kwargs, result)
        except Exception as problem:
            self.recorder.trouble(problem)
        return result

    def _after_outer_call(self, function: Any, record: Call, args: Any, kwargs: Any, result: Any) -> None:
        advanced = [(updater, times) for updater in record.updaters if (times := updater.advance())]
        if advanced:
            self._add_pending(named_arguments(function, args, kwargs))
            self._add_all(output_blocks(result))
            for updater, times in advanced:
                self.steps.updated(updater, times)
        elif moved := self._moved_by(record):
            self._add_pending(named_arguments(function, args, kwargs))
            self._add_all(output_blocks(result))
            self._updated_manually(moved)
        elif record.sources:  # the update is still to come, by an optimizer or a manual one
            self._after_gradient_call(record, named_arguments(function, args, kwargs))
        else:  # a call that trains nothing: what it drew is no batch, but its probes count
            self.pending += self.take_probes()
            self.pending_graph.clear()

    def _mark(self, updaters: Iterable[Updater], stack: list[Call]) -> None:
        """The calls that are under way drive these optimizers."""
        for call in self._under_way(stack):
            call.updaters.update(updaters)

    def _under_way(self, stack: list[Call]) -> list[Call]:
        return [*stack, *([self._outermost] if self._outermost else [])]

    # optimizers

    def update(self, optimizer: Any, original: Callable[[], Any], variables: Iterable[Any] = ()) -> Any:
        """Around an optimizer's apply, eager or traced. A traced one only shows which calls will train."""
        updating: list[Any] = self._here.__dict__.setdefault("updating", [])
        if optimizer in updating:  # apply_gradients calls apply, a wrapper calls the optimizer inside it
            return original()
        try:
            updater = self._before_update(optimizer, variables)
        except Exception as problem:
            self.recorder.trouble(problem)
            return original()
        updating.append(optimizer)
        try:
            result = original()
        finally:
            updating.pop()
        try:
            self._after_update(updater)
        except Exception as problem:
            self.recorder.trouble(problem)
        return result

    def _before_update(self, optimizer: Any, variables: Iterable[Any]) -> Updater:
        self._optimizers = True
        if self._manual.expected:
            self._manual.optimized(variables)
        updater = self.updaters.get(optimizer)
        if updater is None:
            updater = self.updaters[optimizer] = Updater(optimizer)
            updater.advance()
        self.steps.about_to_update((updater,))
        return updater

    def _after_update(self, updater: Updater) -> None:
        stack: list[Call] = self._here.__dict__.setdefault("calls", [])
        if not context.executing_eagerly():
            self._mark((updater,), stack)
            if loops.depth() > (stack[-1].depth if stack else 0):
                loops.insert(self, None)
            return
        updater.advance()
        self._add_pending(named_arguments(*self._outer_args) if self._outer_args else [])
        self.steps.updated(updater)

    # gradients

    def on_gradients(self, target: Any, sources: Any) -> None:
        """A tape was asked for gradients. Eagerly, its target is the loss; without an optimizer, its sources may be
        about to be updated manually."""
        trained = [source for source in flat(sources) if hasattr(source, "handle")]
        if not context.executing_eagerly():
            for call in self._under_way(self._here.__dict__.setdefault("calls", [])):
                call.sources = trained
            if trained and not self.steps.open:
                self.steps.about_to_update(())
            self._manual.expect(self._manual.targets(trained))
            return
        self._look_for_manual_updates()
        loss = block("loss", {"loss": target} if not isinstance(target, (list, tuple, dict)) else target)
        if loss is not None:
            self.pending.append(loss)
        targets = self._manual.targets(trained)
        if targets:
            self.steps.about_to_update([one.key for one in targets])
            self._expect(targets)

    def _expect(self, targets: list[Target]) -> None:
        self._manual.expect(targets)
        self._announced = len(self.pending)

    def _before_gradient_call(self, record: Call) -> None:
        """Before a tf.function that takes gradients and has no optimizer. One that moves what it takes them of is a step
        itself; before another, the update that followed its last call is over."""
        if not record.moves:
            self._look_for_manual_updates()
        targets = self._manual.targets(record.sources)
        if targets:
            self.steps.about_to_update([one.key for one in targets])

    def _moved_by(self, record: Call) -> list[Target]:
        targets = self._manual.targets(record.sources)
        moved = self._manual.moved(targets) if targets else []
        record.moves = record.moves or bool(moved)
        return moved

    def _after_gradient_call(self, record: Call, inputs: list[tuple[str, Any]]) -> None:
        """It moved nothing: what went in belongs to the update that follows."""
        self.pending += self.take_probes()
        self.pending_graph.clear()
        if not any(one.phase == "batch" for one in self.pending) and (given := named_block(inputs)):
            self.pending.append(given)
        targets = self._manual.targets(record.sources)
        if targets:
            self._expect(targets)

    def _look_for_manual_updates(self) -> None:
        if not self._manual.expected:
            return
        moved = self._manual.moved()
        if moved:
            later = self.pending[self._announced :]
            del self.pending[self._announced :]
            self._add_pending([])
            self.pending = later
            self._updated_manually(moved)

    def _updated_manually(self, moved: list[Target]) -> None:
        """A step of its own; where there are optimizers too, part of a round with them."""
        for one in moved:
            self.steps.updated(one.key)
        if not self._optimizers:
            self.steps.close()

    # data

    def take_probes(self) -> list[Block]:
        """What probes inside a graph have seen since this was last asked."""
        found = [one for _, one in self.pending_graph if one.phase == "probe"]
        self.pending_graph = [pair for pair in self.pending_graph if pair[1].phase != "probe"]
        return found

    def on_element(self, element: Any, iterator: Any) -> None:
        """An element was drawn from a dataset, eagerly. A program may draw very many before it trains, or never train:
        all are compared, but not all are kept."""
        drawn = block("batch", element)
        if drawn is None:
            return
        if len(self.pending) >= _KEPT_ELEMENTS:
            self.pending[-1] = folded(self.pending[-1], drawn)
            return
        if not self.pending:
            self._kept_bytes = 0
        self._kept_bytes += size_of_block(drawn)
        kept = drawn if self._kept_bytes < _KEPT_BYTES else replace(drawn, read=None)
        self.pending.append(
            Drawn(kept.phase, kept.names, kept.digests, kept.read, kept.values, weakref.ref(iterator))
        )

    def on_input(self, inputs: Any) -> None:
        """Something was handed to a layer. An array under a tape is a batch; a tensor may be an intermediate."""
        if (
            not self.recorder.alive
            or not context.executing_eagerly()
            or not tapes.could_possibly_record()
            or self._train_calls
        ):
            return
        try:
            arrays = [(name, leaf) for name, leaf in leaves(inputs) if isinstance(leaf, np.ndarray)]
            if (given := named_block(arrays)) is not None:
                self.pending.append(given)
        except Exception as problem:
            self.recorder.trouble(problem)

    def on_graph_element(self, slot: int, names: tuple[str, ...], arrays: list[Any]) -> None:
        training = self._train_calls or (self._outermost is not None and self._outermost.updaters)
        if training and self.recorder.alive:
            with self.recorder.lock:
                self.pending_graph.append((slot, Block.of("batch", zip(names, arrays, strict=True))))

    def _add_pending(self, inputs: list[tuple[str, Any]]) -> None:
        """What was pending belongs to the update that was just made. Where the training call was given tensors, or
        drew some itself, those are its batch, and what was iterated elsewhere (validation, a look at the data) is not."""
        given = named_block(inputs)
        elsewhere = given is not None or bool(self.pending_graph)
        for one in self.pending:
            if one.phase != "batch" or not (elsewhere or _is_over(one)):
                self.recorder.add(one)
        # Replicas draw at the same time: the place in the graph gives them an order, their arrival does not.
        for _, one in sorted(self.pending_graph, key=lambda drawn: drawn[0]):
            self.recorder.add(one)
        if given is not None:
            self.recorder.add(given)
        self.pending, self.pending_graph = [], []
        self._announced = 0

    def _add_all(self, blocks: Iterable[Block]) -> None:
        for one in blocks:
            self.recorder.add(one)

    # fit and its like

    def train_call(self, original: Callable[[], Any]) -> Any:
        """Around one call of a framework's own train function, which returns the logs of the step. The step stays open
        for what the program's callbacks may do to the weights after it."""
        self.steps.close()
        self.steps.about_to_update(())
        # What was iterated before was not iterated by this call.
        self.pending = [one for one in self.pending if one.phase != "batch"]
        self._train_calls += 1
        try:
            logs = original()
        finally:
            self._train_calls -= 1
        try:
            if self.steps.open:
                self._add_all(output_blocks(logs))
        except Exception as problem:
            self.recorder.trouble(problem)
        return logs

    def on_epoch_end(self, logs: Any) -> None:
        """Its metrics, and the weights as the program's callbacks have left them."""
        self.steps.close()
        metrics = {f"epoch/{name}": as_number(value) for name, value in dict(logs or {}).items()}
        if (found := block("metric", metrics)) is not None:
            self.recorder.add(found)
            self._add_state()
            self.recorder.emit(0)

    # Steps asks for these

    def _add_state(self) -> None:
        self._add_all(self.variables.blocks("weights"))

    def _add_created(self) -> None:
        if self.variables.created:
            blocks = self.variables.blocks("init", only_new=True)
            self._add_all(blocks)
            if blocks:
                self.recorder.emit(0)

    def _finish(self) -> None:
        self._look_for_manual_updates()
        self.steps.close()
        if self.recorder.step == 0:
            self._add_all(self.pending)
        else:
            self.pending = [one for one in self.pending if one.phase == "probe"]
            self._add_pending([])
        self._add_all(self.variables.blocks("final"))
        self.recorder.emit(0)


def _is_over(one: Block) -> bool:
    """Drawn in a loop that has ended since: a look at the data, or a validation. The loop that trains goes on."""
    return isinstance(one, Drawn) and one.iterator is not None and one.iterator() is None


_observers: weakref.WeakKeyDictionary[Recorder, Observer] = weakref.WeakKeyDictionary()


def observer_for(recorder: Recorder) -> Observer:
    """The observer of a twin."""
    found = _observers.get(recorder)
    if found is None:
        found = _observers[recorder] = Observer(recorder)
    return found
