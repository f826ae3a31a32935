"""What TensorFlow does, reported to the recorder: which calls train, on what data, with what result. A step is seen from
outside, by the arguments, results and variables of the outermost call; nothing is added to the step's own graph."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import count
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.eager import record as tapes

from twinrun.errors import NoDevice
from twinrun.frameworks.tensorflow import device_digest, loops, op_runs
from twinrun.frameworks.tensorflow.evaluations import Evaluations
from twinrun.frameworks.tensorflow.gradients import Gradients
from twinrun.frameworks.tensorflow.pending import Pending
from twinrun.frameworks.tensorflow.replicas import Replicas, is_first_here
from twinrun.frameworks.tensorflow.reporting import Guard, add_callback
from twinrun.frameworks.tensorflow.sessions import Sessions
from twinrun.frameworks.tensorflow.summarize import named_arguments, output_blocks
from twinrun.frameworks.tensorflow.tables import Tables
from twinrun.frameworks.tensorflow.tensors import Named, block, block_of, has_bits, leaves
from twinrun.frameworks.tensorflow.updater import Call, Given, Updater
from twinrun.frameworks.tensorflow.variables import Variables
from twinrun.twin.block import Block
from twinrun.twin.recorder import Recorder
from twinrun.twin.steps import Steps


class _Here(threading.local):
    """What is under way in this thread."""

    def __init__(self) -> None:
        self.calls: list[Call] = []  # of tf.functions, outermost first
        self.updating: list[Any] = []  # optimizers


class Observer:
    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.guard = Guard(recorder)
        on_devices = device_digest.is_wanted(recorder.session)
        self.variables = Variables(recorder.note, recorder.doing, on_devices=on_devices)
        self._op_runs = op_runs.points(self.variables.forget_look)  # installed where they are needed
        self._expects_gpu = recorder.session.device.startswith("gpu")
        recorder.omitted, recorder.roles = self.variables.omitted, self.variables.roles
        recorder.placed = lambda: dict(self.variables.placed)
        self.steps = Steps(recorder, self._add_state, self._add_created)
        self.pending = Pending(recorder)
        self.updaters: weakref.WeakKeyDictionary[Any, Updater] = weakref.WeakKeyDictionary()
        self._train_calls = 0  # of a framework's own train function, under way now
        self._evaluated = False  # something was, since the weights were last looked at before the first step
        # Batches that `fit` and its like have trained on. None: it was never called.
        self.fit_batches: int | None = None
        self._outermost: Call | None = None
        self.outer_given: Given | None = None
        self.here = _Here()
        self._slots = count()  # places in graphs where elements are drawn
        self.gradients: Gradients = Gradients(self)
        self.replicas: Replicas = Replicas(self)
        self.tables: Tables = Tables(recorder)
        self.evaluations: Evaluations = Evaluations(self)
        recorder.at_finish.append(self._finish)
        recorder.at_pause.append(self._settle)
        recorder.after_fork.append(self._forget)
        self.sessions: Sessions = Sessions(recorder, self.evaluations)

    # tf.function

    def call(self, original: Callable[..., Any], function: Any, *args: Any, **kwargs: Any) -> Any:
        with self.guard:
            self.variables.release_dead()
        record: Call = function.__dict__.get("_twinrun_call") or function.__dict__.setdefault(
            "_twinrun_call", Call()
        )
        stack = self.here.calls
        eager = context.executing_eagerly()
        given = (function, args, kwargs)
        if eager and not stack:
            return self._outer_call(original, record, given)
        depth = record.depth = 0 if eager else loops.depth()
        stack.append(record)
        try:
            result = original(function, *args, **kwargs)
        finally:
            stack.pop()
        if record.updaters and not eager:
            self._mark(record.updaters)
            if depth > (stack[-1].depth if stack else 0):
                loops.insert(self, given)
        return result

    def _outer_call(self, original: Callable[..., Any], record: Call, given: Given) -> Any:
        with self.guard:
            if record.updaters:
                self.steps.about_to_update(record.updaters)
            elif record.sources:
                self.gradients.before_call(record)
        stack = self.here.calls
        stack.append(record)
        record.depth = 0
        self._outermost, self.outer_given = record, given
        try:
            result = original(given[0], *given[1], **given[2])
        finally:
            stack.pop()
            self._outermost, self.outer_given = None, None
        with self.guard:
            self._after_outer_call(record, given, result)
        return result

    def on_traced(self, *_: Any, add_initializers_to: Sequence[Any] | None = None, **__: Any) -> None:
        """The function that was called has been traced for the first time, and has not run yet. What it made has its initial
        values, unless these are still to be given."""
        outermost = self._outermost
        if not add_initializers_to and outermost and outermost.updaters and context.executing_eagerly():
            self.steps.about_to_update(outermost.updaters)

    def _after_outer_call(self, record: Call, given: Given, result: Any) -> None:
        if record.updaters and self.variables.begin_look():
            self.recorder.session.patches.install("TensorFlow", self._op_runs)
        advanced = [(updater, times) for updater in record.updaters if (times := updater.advance())]
        moved = [] if advanced else self.gradients.moved_by(record)
        if advanced or moved:
            self.pending.flush(named_arguments(*given))
            self._add_all(output_blocks(result))
            for updater, times in advanced:
                self.steps.updated(updater, times)
            if moved:
                self.gradients.updated_manually(moved)
            return
        self.pending.end_call()
        self.gradients.after_call(record, given, result)

    def _mark(self, updaters: Iterable[Updater]) -> None:
        """The calls that are under way drive these optimizers."""
        for call in self.under_way():
            call.updaters.update(updaters)

    def under_way(self) -> list[Call]:
        return [*self.here.calls, *([self._outermost] if self._outermost else [])]

    # optimizers

    def apply_gradients(
        self, original: Callable[..., Any], optimizer: Any, grads_and_vars: Any, *args: Any, **kwargs: Any
    ) -> Any:
        pairs = list(grads_and_vars)  # most often an iterator, which can be read only once
        return self.update(optimizer, pairs, lambda: original(optimizer, pairs, *args, **kwargs))

    def update(self, optimizer: Any, pairs: Sequence[tuple[Any, Any]], original: Callable[[], Any]) -> Any:
        """Around an optimizer's apply, eager or traced. A traced one only shows which calls will train."""
        updating = self.here.updating
        if optimizer in updating:  # apply_gradients calls apply, a wrapper calls the optimizer inside it
            return original()
        updater = None
        with self.guard:
            updater = self._before_update(optimizer, [variable for _, variable in pairs])
            self.replicas.updating(pairs)
        if updater is None:
            return original()
        updating.append(optimizer)
        try:
            result = original()
        finally:
            updating.pop()
            self.replicas.updated()
        with self.guard:
            self._after_update(updater)
        return result

    def _before_update(self, optimizer: Any, variables: Iterable[Any]) -> Updater:
        self.gradients.on_optimizer(variables)
        updater = self.updaters.get(optimizer)
        if updater is None:
            updater = self.updaters[optimizer] = Updater(optimizer)
            updater.advance()
        self.steps.about_to_update((updater,))
        return updater

    def _after_update(self, updater: Updater) -> None:
        if not updater.known:  # it has made its slots by now
            updater.known = True
            self.variables.assign_roles(updater.variables(), updater.iterations())
        if not context.executing_eagerly():
            self._mark((updater,))
            stack = self.here.calls
            if loops.depth() > (stack[-1].depth if stack else 0):
                loops.insert(self, None)
            return
        if not is_first_here():  # which takes the step for all of them
            return
        updater.advance()
        self.pending.flush(named_arguments(*self.outer_given) if self.outer_given else ())
        self.steps.updated(updater)

    # data

    def on_element(self, element: Any, iterator: Any) -> None:
        """An element is drawn from a dataset. Inside a training function it is seen by a host callback; inside a loop, by
        that of the loop."""
        if context.executing_eagerly():
            self.pending.add_element(element, iterator)
        elif not loops.keep_element(element):
            self.add_callback("batch", leaves(element))

    def probe(self, name: str, tensor: Any) -> bool:
        """`twinrun.probe` for tensors. False when it holds nothing of TensorFlow's."""
        if isinstance(tensor, tf.Variable):
            tensor = tensor.read_value()
        if context.executing_eagerly():
            found = block("probe", tensor, name)
            self.pending.add(found)
            return found is not None
        if loops.is_compiled():
            self.recorder.note(
                f"probe {name!r} is inside a function that XLA compiles and cannot be seen there"
            )
        else:
            self.add_callback("probe", leaves(tensor, name))
        return True

    def add_callback(self, phase: str, named: Iterable[Named]) -> None:
        """These tensors of the graph that is being built are pending whenever it runs."""
        slot = next(self._slots) if phase != "probe" else 0
        seen = [(name, leaf) for name, leaf in named if has_bits(leaf)]
        names = [name for name, _ in seen]

        def report(arrays: list[Any]) -> None:
            outermost = self._outermost
            if phase == "probe" or self._train_calls or (outermost is not None and outermost.updaters):
                self.pending.add_in_graph(slot, Block.of(phase, zip(names, arrays, strict=True)))

        add_callback(self.recorder, report, [leaf for _, leaf in seen])

    def on_optional(self, element: Any, *_: Any, **__: Any) -> None:
        if not context.executing_eagerly():
            loops.keep_element(element)

    def scan(self, original: Callable[..., Any], dataset: Any, state: Any, function: Any) -> Any:
        """A loop over a dataset inside a tf.function."""

        def body(loop_state: Any, element: Any) -> Any:
            loops.keep_element(element)
            return function(loop_state, element)

        # What it wraps has been converted by AutoGraph already.
        return original(dataset, state, tf.autograph.experimental.do_not_convert(body))

    def on_input(self, inputs: Any) -> None:
        """Something was handed to a layer. An array under a tape is a batch; a tensor may be an intermediate."""
        if (
            not self.recorder.alive
            or not context.executing_eagerly()
            or not tapes.could_possibly_record()
            or self._train_calls
        ):
            return
        with self.guard:
            arrays = [(name, leaf) for name, leaf in leaves(inputs) if isinstance(leaf, np.ndarray)]
            self.pending.add(block_of("batch", arrays))

    def on_variable(self, result: Any, variable: Any, *_: Any, **__: Any) -> None:
        if self._expects_gpu:
            self._expects_gpu = False
            self._must_see_gpu()
        self.variables.track(variable)

    def _must_see_gpu(self) -> None:
        """Asked when the program makes its first variable: before, that would start what it may still configure."""
        if not tf.config.list_physical_devices("GPU"):
            hint = "install the TensorFlow that uses GPUs: pip install 'tensorflow[and-cuda]'"
            self.recorder.trouble(NoDevice("TensorFlow sees no GPU", hint))

    def _add_all(self, blocks: Iterable[Block]) -> None:
        for one in blocks:
            self.recorder.add(one)

    # fit and its like

    def train_call(self, original: Callable[[], Any]) -> Any:
        """Around one call of a framework's own train function, which returns the logs of the step. The step stays open
        for what the program's callbacks may do to the weights after it."""
        with self.guard:
            self.steps.close()
            self.steps.about_to_update(())
            # What was iterated before was not iterated by this call.
            self.pending.keep(lambda one: one.phase != "batch")
        self._train_calls += 1
        try:
            logs = original()
        finally:
            self._train_calls -= 1
        self.fit_batches = (self.fit_batches or 0) + 1
        with self.guard:
            if self.steps.open:
                self._add_all(output_blocks(logs))
        return logs

    def on_batch_end(self, *_: Any, **__: Any) -> None:
        self.steps.close()

    def on_epoch_end(self, result: Any, callbacks: Any, epoch: int, logs: Any = None) -> None:
        """Its metrics, and the weights as the program's callbacks have left them."""
        self.steps.close()
        metrics = [(f"epoch/{name}", value) for name, value in dict(logs or {}).items()]
        if (found := block_of("metric", metrics)) is not None:
            self.recorder.add(found)
            self._add_state()
            self.recorder.emit(0)

    def settle_step(self) -> bool:
        """Before something that no step makes is reported. Returns whether a step is open, which it then belongs to."""
        self.gradients.settle()
        if self.steps.open or self.sessions.steps.open:
            return True
        self._evaluated = False  # no look for each of many evaluations
        self.steps.about_to_update(())
        self._evaluated = self.recorder.step == 0
        return False

    # Steps asks for these

    def _add_state(self) -> None:
        self.evaluations.end_step()
        self._add_all((*self.variables.blocks("weights"), *self.tables.blocks("weights")))
        self.replicas.look_for_drift(self.recorder.step)

    def _add_created(self) -> None:
        """A program that evaluates before its first step may load its weights after that."""
        evaluated, self._evaluated = self._evaluated, False
        if self.variables.created or self.tables.created or evaluated:
            blocks = self.variables.blocks("init", only_new=True, moved=evaluated)
            if self.tables.created:
                blocks += self.tables.blocks("init")
            self._add_all(blocks)
            if blocks:
                self.recorder.emit(0)

    def _forget(self) -> None:
        """In a forked child: what is under way belongs to the process that it was forked from."""
        self.steps.forget()
        self.pending.forget()
        self.evaluations.forget()
        self.here, self._outermost, self.outer_given, self._train_calls = _Here(), None, None, 0

    def _settle(self) -> None:
        with self.guard:
            self.gradients.settle()
            self.steps.close()

    def _finish(self) -> None:
        self.gradients.settle()
        if self.steps.open:
            self.steps.close()
            self.replicas.open_step = self.recorder.step
        if self.recorder.step == 0:
            self._add_all(self.pending.blocks)
        else:
            self.pending.keep(lambda one: one.phase == "probe")
            self.pending.flush()
        self.evaluations.finish()
        self._add_all(self.variables.blocks("final"))
        self._add_all((*self.variables.of_metrics(), *self.tables.blocks("final")))
        self.recorder.emit(0)


@cache
def observer_for(recorder: Recorder) -> Observer:
    """The observer of a twin."""
    return Observer(recorder)
