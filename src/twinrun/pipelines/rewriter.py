"""A pipeline built again, stage by stage, with every order fixed and every draw keyed.

Stages that need no change, and everything below them, are used as they are: the same dataset object, nothing
copied.
"""

from __future__ import annotations

from typing import Any

from twinrun.pipelines.build_sites import op_site
from twinrun.pipelines.captured import remember, remember_graph
from twinrun.pipelines.change import Change
from twinrun.pipelines.dataset_kinds import word_of
from twinrun.pipelines.draw_keys import Pass, Scope
from twinrun.pipelines.function_replay import CannotRewrite, copy_op, replay
from twinrun.pipelines.judge import RANDOM_SOURCES, SHUFFLES
from twinrun.pipelines.keyed_stages import BY_WORD, Resolve, Work, random, shuffle
from twinrun.pipelines.needs import Needs
from twinrun.pipelines.op_arguments import (
    argument,
    argument_tensor,
    dataset_inputs,
    past_identities,
    place_of,
)
from twinrun.pipelines.pipeline_stages import Pipeline, Stage
from twinrun.pipelines.repetition import repeat
from twinrun.pipelines.stage_functions import function_graph, is_dataset_op

CYCLE_LENGTH = 16  # in the place of "as many as this machine has cores"


class Rewriter:
    """Builds the stages of one pipeline again. Lives as long as the dataset it has made."""

    def __init__(self, pipeline: Pipeline, stages: tuple[Stage, ...], sorted_sources: frozenset[str]) -> None:
        self.pipeline = pipeline
        self.needs = Needs(sorted_sources, pipeline.lifted.unread)
        self.keep_alive: list[Any] = []
        self.may_be_empty = False
        self.changes: dict[tuple[str, str], Change] = {}
        pairs = ((pipeline.ops.get(stage.number), stage) for stage in stages)
        self._stages = {_key(op): stage for op, stage in pairs if op is not None}
        self._origins = pipeline.lifted.origins
        self._captures = {inner.op.name: outer for outer, inner in pipeline.lifted.graph.captures}
        self._made: dict[str, Any] = {}

    def dataset(self, op: Any, scope: Any, *, probing: bool = False) -> Any:
        """The variant tensor of a top-level stage, built again when it has to be.

        `scope` is the Pass it is built for. A probe only asks whether there is anything at all: what neither
        adds nor takes away is left out.
        """
        op = past_identities(op)
        if not self.needs.stage(op) and op.name in self._origins:
            remember(self._origins[op.name])
            return self._origins[op.name]._variant_tensor
        if op.type == "Placeholder":
            return (
                self._sorted_source(op) if op.name in self.needs.sorted_sources else self._captures[op.name]
            )
        word = word_of(op.type)
        if word == "options" or (probing and word in ("shuffle", "cache", "prefetch")):
            return self.dataset(dataset_inputs(op)[0].op, scope, probing=probing)
        if word == "cache":
            return self._cache(op, scope)
        if word == "repeat":
            work = Work(self, op, scope, self.value, (self.number(op),))
            source = dataset_inputs(op)[0].op
            return repeat(work, lambda turn: self.dataset(source, turn, probing=probing))
        if word == "snapshot":
            raise CannotRewrite(
                "snapshot() keeps what an earlier run drew, and the stages before it draw",
                hint="move the random stages behind snapshot()",
                where=self.where(op),
            )

        def resolve(tensor: Any) -> Any:
            if is_dataset_op(tensor.op) or tensor.op.name in self._origins:
                return self.dataset(tensor.op, scope, probing=probing)
            return self.value(tensor)

        return self._stage(Work(self, op, scope, resolve, (self.number(op),)))

    def nested(self, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]) -> Any:
        """A stage that is built inside a function, for the function's present element."""
        number = [one.name for one in op.graph.get_operations() if is_dataset_op(one)].index(op.name)
        work = Work(self, op, scope, resolve, (*place, f"dataset {number}"))
        if not self.needs.stage(op, nested=True):
            return copy_op(op, [resolve(one) for one in op.inputs]).outputs[0]
        if op.type == "OptionsDataset":
            return resolve(dataset_inputs(op)[0])
        if word_of(op.type) == "repeat":
            below = past_identities(dataset_inputs(op)[0].op)
            if is_dataset_op(below):
                return repeat(work, lambda turn: self._again(below, turn, resolve, place))
        return self._stage(work)

    def _again(self, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]) -> Any:
        """What a repeat() inside a function repeats, with other draws in each turn."""

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
        """One stage that draws, gives up its order, or is fed by one that does."""
        op = work.op
        if op.type in SHUFFLES:
            return shuffle(work)
        if op.type in RANDOM_SOURCES:
            return random(work)
        if not self.needs.functions_of(op):
            return self._copy(op, work.resolve)
        handler = BY_WORD.get(word_of(op.type))
        if handler is None:
            raise CannotRewrite(
                f"a draw in the function of {word_of(op.type)}() cannot be keyed by element",
                hint="draw in a map() before it",
                where=self.where(op),
            )
        return handler(work)

    def _copy(self, op: Any, resolve: Resolve) -> Any:
        """The same stage on its new input, with its order fixed."""
        import tensorflow as tf

        changed: dict[str, Any] = {}
        inputs = [resolve(one) for one in op.inputs]
        if argument(op, "deterministic") == "false" or op.name in self.needs.unread:
            changed["deterministic"] = {"s": b"true"}
            self.note_order(op)
        if argument(op, "sloppy") is True:
            if argument_tensor(op, "sloppy") is None:
                changed["sloppy"] = {"b": False}
            else:
                inputs[place_of(op, "sloppy")] = tf.constant(False)
            self.note_order(op)
        if argument(op, "cycle_length") == -1:
            cycle, calls = self.cycle(op)
            inputs[place_of(op, "cycle_length")] = tf.constant(cycle, tf.int64)
            if calls is not None:
                inputs[place_of(op, "num_parallel_calls")] = tf.constant(calls, tf.int64)
        return copy_op(op, inputs, **changed).outputs[0]

    def cycle(self, op: Any) -> tuple[int, int | None]:
        """A cycle length that does not depend on the machine, and a number of calls that fits it."""
        self.note(op, f"cycle_length={CYCLE_LENGTH}, where TensorFlow would take the number of cores")
        calls = argument(op, "num_parallel_calls")
        return CYCLE_LENGTH, None if calls is None else min(int(calls), CYCLE_LENGTH)

    def _cache(self, op: Any, scope: Pass) -> Any:
        """A cache must outlive the epoch, so it is made outside, over what the first epoch draws."""
        import tensorflow as tf

        if op.name not in self._made:
            self.note(op, "keeps what epoch 0 draws, as it did; made once, outside the epochs")

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
        import numpy as np
        import tensorflow as tf

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

    def replay(self, graph: Any, inputs: list[Any], scope: Scope | None, place: tuple[Any, ...]) -> list[Any]:
        return replay(graph, inputs, scope, self, place)

    def note_order(self, op: Any) -> None:
        self.note(op, "keeps its order, as parallel as before")

    def note(self, op: Any, what: str) -> None:
        """Put something on the list of changes, once."""
        stage = self._stages.get(_key(op))
        if stage is None:
            change = Change("?", word_of(op.type), op_site(op), what)
        else:
            change = Change(stage.number, stage.kind, stage.site, what)
        self.changes.setdefault((change.stage, what), change)

    def where(self, op: Any) -> str | None:
        """The line to tell with a refusal: the op's own, inside a function, else its stage's."""
        stage = self._stages.get(_key(op))
        site = op_site(op) if op.graph is not self.pipeline.lifted.graph else None
        site = site or (stage.site if stage is not None else None)
        return None if site is None else str(site)

    def number(self, op: Any) -> str:
        stage = self._stages.get(_key(op))
        return str(op.name) if stage is None else stage.number

    def elements_into(self, op: Any) -> int | None:
        """How many elements a stage is fed with, where that is known."""
        stage = self._stages.get(_key(past_identities(dataset_inputs(op)[0].op)))
        return None if stage is None else stage.attributes.get("elements")


def _key(op: Any) -> tuple[int, str]:
    return id(op.graph), op.name
