"""A pipeline rebuilt stage by stage, with every order fixed and every draw keyed.

Stages that need no change, and everything below them, are used as they are: the same dataset object, nothing
copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from twinrun.pipelines.build_sites import op_site
from twinrun.pipelines.dataset_kinds import RANDOM_SOURCES, SHUFFLES, kind_of
from twinrun.pipelines.draw_keys import Pass, Place, Scope
from twinrun.pipelines.function_replay import copy_op
from twinrun.pipelines.keyed_stages import HANDLERS, KEEPS_ORDER, Resolve, Work, repeat, shuffle_or_random
from twinrun.pipelines.lifted_graph import remember, remember_graph
from twinrun.pipelines.op_arguments import (
    argument,
    argument_tensor,
    dataset_inputs,
    inputs_by_name,
    past_identities,
)
from twinrun.pipelines.pipeline_stages import Pipeline, Stage, Stages
from twinrun.pipelines.rebuild_needs import RebuildNeeds
from twinrun.pipelines.rewrite_outcome import CannotRewrite, Change
from twinrun.pipelines.stage_functions import function_graph, is_dataset_op

CYCLE_LENGTH = 16  # instead of the number of this machine's cores
_NEITHER_ADDS_NOR_DROPS = ("shuffle", "cache", "prefetch")


class Rewriter:
    """Rebuilds the stages of one pipeline. Lives as long as the dataset it has made."""

    def __init__(self, pipeline: Pipeline, stages: Stages, sorted_sources: frozenset[str]) -> None:
        self.pipeline = pipeline
        self.needs = RebuildNeeds(sorted_sources, pipeline.lifted.unread)
        self.keep_alive: list[Any] = []
        self.may_be_empty = False
        self.changes: dict[tuple[str, str], Change] = {}
        pairs = ((pipeline.ops.get(stage.number), stage) for stage in stages)
        self._stages = {(id(op.graph), op.name): stage for op, stage in pairs if op is not None}
        self._origins = pipeline.lifted.origins
        self._captures = {inner.op.name: outer for outer, inner in pipeline.lifted.graph.captures}
        self._made: dict[str, Any] = {}

    def dataset(self, op: Any, scope: Any, *, probing: bool = False) -> Any:
        """The variant tensor of a top-level stage, rebuilt when necessary.

        `scope` is the Pass it is built for. A probe only asks whether there are any elements: stages that
        neither add nor drop elements are left out.
        """
        op = past_identities(op)
        if not self.needs.stage(op) and op.name in self._origins:
            remember(self._origins[op.name])
            return self._origins[op.name]._variant_tensor
        if op.type == "Placeholder":
            is_sorted = op.name in self.needs.sorted_sources
            return self._sorted_source(op) if is_sorted else self._captures[op.name]
        kind = kind_of(op.type)
        if kind == "options" or (probing and kind in _NEITHER_ADDS_NOR_DROPS):
            return self.dataset(dataset_inputs(op)[0].op, scope, probing=probing)
        if kind == "cache":
            return self._cache(op, scope)
        if kind == "repeat":
            work = Work(self, op, scope, self.value, (self.number(op),))
            source = dataset_inputs(op)[0].op
            return repeat(work, lambda turn: self.dataset(source, turn, probing=probing))
        if kind == "snapshot":
            message = "snapshot() keeps what an earlier run drew, and the stages before it draw"
            raise self.refusal(op, message, "move the random stages behind snapshot()")

        def resolve(tensor: Any) -> Any:
            if is_dataset_op(tensor.op) or tensor.op.name in self._origins:
                return self.dataset(tensor.op, scope, probing=probing)
            return self.value(tensor)

        return self._stage(Work(self, op, scope, resolve, (self.number(op),)))

    def nested(self, op: Any, scope: Scope, resolve: Resolve, place: Place) -> Any:
        """A stage that is built inside a function, for the function's present element."""
        number = [one.name for one in op.graph.get_operations() if is_dataset_op(one)].index(op.name)
        work = Work(self, op, scope, resolve, (*place, f"dataset {number}"))
        if not self.needs.stage(op, nested=True):
            return copy_op(op, [resolve(one) for one in op.inputs]).outputs[0]
        if op.type == "OptionsDataset":
            return resolve(dataset_inputs(op)[0])
        if kind_of(op.type) == "repeat":
            below = past_identities(dataset_inputs(op)[0].op)
            if is_dataset_op(below):
                return repeat(work, lambda turn: self._repeated(below, turn, resolve, place))
        return self._stage(work)

    def _repeated(self, op: Any, scope: Scope, resolve: Resolve, place: Place) -> Any:
        """What a repeat() inside a function repeats, with other draws in each repetition."""

        def inner(tensor: Any) -> Any:
            below = past_identities(tensor.op)
            return self.nested(below, scope, inner, place) if is_dataset_op(below) else resolve(tensor)

        return self.nested(op, scope, inner, place)

    def value(self, tensor: Any) -> Any:
        """An argument of a top-level stage: a constant, or a tensor that was captured."""
        if tensor.op.type == "Placeholder":
            return self._captures[tensor.op.name]
        return copy_op(tensor.op, [self.value(one) for one in tensor.op.inputs]).outputs[tensor.value_index]

    def _stage(self, work: Work) -> Any:
        """One stage that draws, has no fixed order, or is fed by one that does."""
        op, kind = work.op, kind_of(work.op.type)
        if op.type in SHUFFLES | RANDOM_SOURCES:
            return shuffle_or_random(work)
        if not self.needs.functions_of(op):
            return self._copy(op, work.resolve)
        if kind not in HANDLERS:
            message = f"a draw in the function of {kind}() cannot be keyed by element"
            raise self.refusal(op, message, "draw in a map() before it")
        rebuild, what = HANDLERS[kind]
        self.note(op, what)
        return rebuild(work)._variant_tensor

    def _copy(self, op: Any, resolve: Resolve) -> Any:
        """The same stage on its new input, with its order fixed."""
        attributes: dict[str, Any] = {}
        replaced: dict[str, Any] = {}
        sloppy = argument(op, "sloppy") is True
        if argument(op, "deterministic") == "false" or op.name in self.needs.unread:
            attributes["deterministic"] = {"s": b"true"}
        if sloppy and argument_tensor(op, "sloppy") is None:
            attributes["sloppy"] = {"b": False}
        elif sloppy:
            replaced["sloppy"] = tf.constant(False)
        if attributes or sloppy:
            self.note(op, KEEPS_ORDER)
        if argument(op, "cycle_length") == -1:
            cycle, calls = self.cycle(op)
            replaced["cycle_length"] = tf.constant(cycle, tf.int64)
            if calls is not None:
                replaced["num_parallel_calls"] = tf.constant(calls, tf.int64)
        inputs = [
            replaced[arg.name] if arg.name in replaced else resolve(one)
            for arg, given in inputs_by_name(op)
            for one in given
        ]
        return copy_op(op, inputs, **attributes).outputs[0]

    def cycle(self, op: Any) -> tuple[int, int | None]:
        """A cycle length that does not depend on the machine, and a number of calls that fits it."""
        self.note(op, f"cycle_length={CYCLE_LENGTH}, where TensorFlow would take the number of cores")
        calls = argument(op, "num_parallel_calls")
        return CYCLE_LENGTH, None if calls is None else min(int(calls), CYCLE_LENGTH)

    def _cache(self, op: Any, scope: Pass) -> Any:
        """A cache must outlive the epoch, so it is made outside, over what the first epoch draws."""
        if op.name not in self._made:
            self.note(op, "keeps what epoch 0 draws, as before; made once, outside the epochs")

            def make() -> Any:
                source = self.dataset(dataset_inputs(op)[0].op, Pass(scope.seed, tf.constant(0, tf.int64)))
                return copy_op(op, [source, *(self.value(one) for one in list(op.inputs)[1:])]).outputs[0]

            with tf.init_scope():
                maker = tf.function(make, autograph=False)
                self._made[op.name] = maker()
                graph = maker.get_concrete_function().graph
                self.keep_alive += [maker, remember_graph(self._made[op.name], graph)]
        return self._made[op.name]

    def _sorted_source(self, op: Any) -> Any:
        """A source of file names, with its rows in the order of the names."""
        if op.name not in self._made:
            self.note(op, "file names sorted")
            with tf.init_scope():
                tensors = self._origins[op.name]._tensors
                names = next(one for one in tensors if one.dtype == tf.string and one.shape.rank == 1)
                order = np.argsort(names.numpy(), kind="stable")
                ordered = tf.data.Dataset.from_tensor_slices(tuple(tf.gather(one, order) for one in tensors))
                self._made[op.name] = ordered._variant_tensor
                self.keep_alive.append(ordered)
                remember(ordered)
        return self._made[op.name]

    def function(self, op: Any, name: str) -> Any:
        return function_graph(op.graph, op.get_attr(name).name)

    def note(self, op: Any, what: str) -> None:
        """Put something on the list of changes, once."""
        stage = self._stage_of(op)
        if stage is None:
            change = Change("?", kind_of(op.type), op_site(op), what)
        else:
            change = Change(stage.number, stage.kind, stage.site, what)
        self.changes.setdefault((change.stage, what), change)

    def refusal(self, op: Any, message: str, hint: str) -> CannotRewrite:
        """Why an op cannot be rewritten, at its own line, inside a function, else at its stage's."""
        stage = self._stage_of(op)
        site = op_site(op) if op.graph is not self.pipeline.lifted.graph else None
        site = site or (stage.site if stage is not None else None)
        return CannotRewrite(message, hint, None if site is None else str(site))

    def number(self, op: Any) -> str:
        stage = self._stage_of(op)
        return str(op.name) if stage is None else stage.number

    def elements_into(self, op: Any) -> int | None:
        """How many elements a stage is fed with, where that is known."""
        stage = self._stage_of(past_identities(dataset_inputs(op)[0].op))
        return None if stage is None else stage.attributes.get("elements")

    def _stage_of(self, op: Any) -> Stage | None:
        return self._stages.get((id(op.graph), op.name))
