"""What TensorFlow does, told to the watch: which calls train, on what data, with what result. Sees a step from
outside: the arguments, results and variables of the outermost call; nothing is added to the step's own graph."""

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
from twinrun.frameworks.tensorflow.manual_update import ByHand, Source
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
from twinrun.recording.digest import digest_array
from twinrun.twin.recorder import Block, Watch
from twinrun.twin.steps import Steps

_KEPT_ELEMENTS = 10_000  # beyond this many, one digest stands for all the rest
_KEPT_BYTES = 256 << 20  # beyond this, only digests are kept, and no values


@dataclass(frozen=True)
class Drawn(Block):
    """An element of a dataset, and where it was drawn from."""

    iterator: weakref.ref[Any] | None = None


class Observer:
    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.variables = Variables()
        watch.unsaid = self.variables.unsaid
        self.steps = Steps(watch, self._state, self._newborn)
        self.pending: list[Block] = []  # seen since the last update, on the way to the next
        self.pending_graph: list[
            tuple[int, Block]
        ] = []  # drawn inside a training call, by place in its graph
        self.scope = 0  # inside a framework's own training call (fit)
        self.outermost: Call | None = None
        self.elements = 0
        self._kept_bytes = 0
        self._updaters: weakref.WeakKeyDictionary[Any, Updater] = weakref.WeakKeyDictionary()
        self._stack = threading.local()
        self._outer_args: tuple[Any, Any, Any] | None = None
        self._optimizers = False  # whether one was ever used
        self.by_hand = ByHand()
        self._announced = 0  # of what is pending, this many belong to the update by hand that is awaited
        watch.at_finish.append(self._finish)

    # tf.function

    def call(self, function: Any, args: Any, kwargs: Any, original: Callable[..., Any]) -> Any:
        self.variables.bury()
        record: Call = function.__dict__.setdefault("_twinrun_call", Call())
        stack: list[Call] = self._stack.__dict__.setdefault("calls", [])
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
            self._about_to_take_gradients(record)
        stack.append(record)
        record.depth = 0
        self.outermost, self._outer_args = record, (function, args, kwargs)
        try:
            result = original(function, *args, **kwargs)
        finally:
            stack.pop()
            self.outermost, self._outer_args = None, None
        try:
            self._after_outer_call(function, record, args, kwargs, result)
        except Exception as problem:
            self.watch.trouble(problem)
        return result

    def _after_outer_call(self, function: Any, record: Call, args: Any, kwargs: Any, result: Any) -> None:
        advanced = [(updater, times) for updater in record.updaters if (times := updater.advance())]
        if advanced:
            self._take(named_arguments(function, args, kwargs))
            self._outputs(result)
            for updater, times in advanced:
                self.steps.updated(updater, times)
        elif moved := self._moved_by(record):
            self._take(named_arguments(function, args, kwargs))
            self._outputs(result)
            self._updated_by_hand(moved)
        elif record.sources:  # the update is still to come, by an optimizer or by hand
            self._took_gradients(record, named_arguments(function, args, kwargs))
        else:  # a call that trains nothing: what it drew is no batch, and what it was asked to show is shown
            self.pending += self.probed()
            self.pending_graph.clear()

    def _mark(self, updaters: Iterable[Updater], stack: list[Call]) -> None:
        for call in [*stack, *([self.outermost] if self.outermost else [])]:
            call.updaters.update(updaters)

    # optimizers

    def update(self, optimizer: Any, original: Callable[[], Any], variables: Iterable[Any] = ()) -> Any:
        """Around an optimizer's apply, eager or traced. A traced one only tells which calls will train."""
        updating: list[Any] = self._stack.__dict__.setdefault("updating", [])
        if optimizer in updating:  # apply_gradients calls apply, a wrapper calls the optimizer inside it
            return original()
        try:
            updater = self._about_to_update(optimizer, variables)
        except Exception as problem:
            self.watch.trouble(problem)
            return original()
        updating.append(optimizer)
        try:
            result = original()
        finally:
            updating.pop()
        try:
            self._after_update(updater)
        except Exception as problem:
            self.watch.trouble(problem)
        return result

    def _about_to_update(self, optimizer: Any, variables: Iterable[Any]) -> Updater:
        self._optimizers = True
        if self.by_hand.awaited:
            self.by_hand.optimized(variables)
        updater = self._updaters.get(optimizer)
        if updater is None:
            updater = self._updaters[optimizer] = Updater(optimizer)
            updater.advance()
        self.steps.about_to_update((updater,))
        return updater

    def _after_update(self, updater: Updater) -> None:
        stack: list[Call] = self._stack.__dict__.setdefault("calls", [])
        if not context.executing_eagerly():
            self._mark((updater,), stack)
            if loops.depth() > (stack[-1].depth if stack else 0):
                loops.insert(self, None)
            return
        updater.advance()
        fed = named_arguments(*self._outer_args) if self._outer_args else []
        self._take(fed)
        self.steps.updated(updater)

    # gradients

    def gradient(self, target: Any, sources: Any) -> None:
        """A tape was asked for gradients. Eagerly, its target is the loss; without an optimizer, its sources may be
        about to be updated by hand."""
        eager = context.executing_eagerly()
        trained = [source for source in flat(sources) if hasattr(source, "handle")]
        if not eager:
            stack: list[Call] = self._stack.__dict__.setdefault("calls", [])
            for call in [*stack, *([self.outermost] if self.outermost else [])]:
                call.sources = trained
            if trained and not self.steps.open:
                self.steps.about_to_update(())
            self.by_hand.expect(self.by_hand.sources(trained))
            return
        self._look_for_updates_by_hand()
        loss = block("loss", {"loss": target} if not isinstance(target, (list, tuple, dict)) else target)
        if loss is not None:
            self.pending.append(loss)
        expected = self.by_hand.sources(trained)
        if expected:
            self.steps.about_to_update([one.key for one in expected])
            self.by_hand.expect(expected)
            self._announced = len(self.pending)

    def _about_to_take_gradients(self, record: Call) -> None:
        """Before a tf.function that takes gradients and has no optimizer. One that moves what it takes them of is a step
        itself; before another, the update that followed its last call is over."""
        if not record.moves:
            self._look_for_updates_by_hand()
        sources = self.by_hand.sources(record.sources)
        if sources:
            self.steps.about_to_update([one.key for one in sources])

    def _moved_by(self, record: Call) -> list[Source]:
        sources = self.by_hand.sources(record.sources)
        moved = self.by_hand.moved(sources) if sources else []
        record.moves = record.moves or bool(moved)
        return moved

    def _took_gradients(self, record: Call, fed: list[tuple[str, Any]]) -> None:
        """Without moving anything: what went in belongs to the update that follows."""
        self.pending += self.probed()
        self.pending_graph.clear()
        if not any(one.phase == "batch" for one in self.pending) and (given := named_block(fed)) is not None:
            self.pending.append(given)
        expected = self.by_hand.sources(record.sources)
        if expected:
            self.by_hand.expect(expected)
            self._announced = len(self.pending)

    def _look_for_updates_by_hand(self) -> None:
        if not self.by_hand.awaited:
            return
        moved = self.by_hand.moved()
        if moved:
            later = self.pending[self._announced :]
            del self.pending[self._announced :]
            self._take([])
            self.pending = later
            self._updated_by_hand(moved)

    def _updated_by_hand(self, moved: list[Source]) -> None:
        """A step of its own; where there are optimizers too, one of a round with them."""
        for one in moved:
            self.steps.updated(one.key)
        if not self._optimizers:
            self.steps.close()

    # data

    def probed(self) -> list[Block]:
        """What probes inside a graph have seen since this was last asked."""
        found = [one for _, one in self.pending_graph if one.phase == "probe"]
        self.pending_graph = [pair for pair in self.pending_graph if pair[1].phase != "probe"]
        return found

    def drew(self, element: Any, iterator: Any) -> None:
        """An element was drawn from a dataset, eagerly. A program may draw very many before it trains, or never train:
        all are compared, but not all are kept."""
        self.elements += 1
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

    def fed(self, inputs: Any) -> None:
        """Something was handed to a layer, eagerly. An array under a tape is a batch; a tensor may be an intermediate."""
        if (
            not self.watch.alive
            or not context.executing_eagerly()
            or not tapes.could_possibly_record()
            or self.scope
        ):
            return
        try:
            handed = named_block(
                [(name, leaf) for name, leaf in leaves(inputs) if isinstance(leaf, np.ndarray)]
            )
            if handed is not None:
                self.pending.append(handed)
        except Exception as problem:
            self.watch.trouble(problem)

    def drew_in_graph(self, slot: int, names: tuple[str, ...], arrays: list[Any]) -> None:
        training = self.scope or (self.outermost is not None and self.outermost.updaters)
        if training and self.watch.alive:
            with self.watch.lock:
                digests = [digest_array(array) for array in arrays]
                self.pending_graph.append(
                    (slot, Block("batch", names, digests, lambda number: arrays[number]))
                )

    def _take(self, fed: list[tuple[str, Any]]) -> None:
        """What was pending belongs to the update that was just made. Where the training call was handed tensors, or
        drew some itself, those are its batch, and what was iterated elsewhere (validation, a look at the data) is not."""
        given = named_block(fed)
        elsewhere = given is not None or bool(self.pending_graph)
        for one in self.pending:
            if one.phase != "batch" or not (elsewhere or _is_over(one)):
                self.watch.add(one)
        # Replicas draw at the same time: the place in the graph gives them an order, their arrival does not.
        for _, one in sorted(self.pending_graph, key=lambda drawn: drawn[0]):
            self.watch.add(one)
        if given is not None:
            self.watch.add(given)
        self.pending, self.pending_graph = [], []
        self._announced = 0

    def _outputs(self, result: Any) -> None:
        for one in output_blocks(result):
            self.watch.add(one)

    # fit and its like

    def train_call(self, original: Callable[[], Any]) -> Any:
        """Around one call of a framework's own train function, which returns the logs of the step. The step stays open
        for what the program's callbacks may do to the weights after it."""
        self.steps.close()
        self.steps.about_to_update(())
        self.pending = [
            one for one in self.pending if one.phase != "batch"
        ]  # iterated before, and not by this call
        self.scope += 1
        try:
            logs = original()
        finally:
            self.scope -= 1
        try:
            if self.steps.open:
                for one in output_blocks(logs):
                    self.watch.add(one)
        except Exception as problem:
            self.watch.trouble(problem)
        return logs

    def epoch_ended(self, logs: Any) -> None:
        """Its metrics, and the weights as the program's callbacks have left them."""
        self.steps.close()
        found = block(
            "metric", {f"epoch/{name}": as_number(value) for name, value in dict(logs or {}).items()}
        )
        if found is not None:
            self.watch.add(found)
            self._state()
            self.watch.emit(0)

    # Steps asks for these

    def _state(self) -> None:
        for one in self.variables.blocks("weights"):
            self.watch.add(one)

    def _newborn(self) -> None:
        if self.variables.newborn:
            blocks = self.variables.blocks("init", only_new=True)
            for one in blocks:
                self.watch.add(one)
            if blocks:
                self.watch.emit(0)

    def _finish(self) -> None:
        self._look_for_updates_by_hand()
        self.steps.close()
        if self.watch.step == 0:
            for one in self.pending:
                self.watch.add(one)
        else:
            self.pending = [one for one in self.pending if one.phase == "probe"]
            self._take([])
        for one in self.variables.blocks("final"):
            self.watch.add(one)
        self.watch.emit(0)


def _is_over(one: Block) -> bool:
    """Drawn in a loop that has ended since: a look at the data, or a validation. The loop that trains goes on."""
    return isinstance(one, Drawn) and one.iterator is not None and one.iterator() is None


_observers: weakref.WeakKeyDictionary[Watch, Observer] = weakref.WeakKeyDictionary()


def observer_for(watch: Watch) -> Observer:
    """One observer for all the adapters of a twin: TensorFlow and both kinds of Keras share it."""
    found = _observers.get(watch)
    if found is None:
        from twinrun.frameworks.tensorflow.patches import install

        found = _observers[watch] = Observer(watch)
        install(found)
    return found
