"""A pipeline built again, stage by stage, with every order fixed and every draw keyed.

Stages that need no change, and everything below them, are used as they are: the same dataset object, nothing copied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from twinrun.adapters.tensorflow.data.functions import called_graphs, function_graph, is_dataset_op
from twinrun.adapters.tensorflow.data.graph import Pipeline, Stage, argument, argument_tensor, dataset_inputs
from twinrun.adapters.tensorflow.data.judge import RANDOM_SOURCES, SHUFFLES
from twinrun.adapters.tensorflow.data.keys import Pass, Scope
from twinrun.adapters.tensorflow.data.kinds import kind_of
from twinrun.adapters.tensorflow.data.lift import remember, remember_graph
from twinrun.adapters.tensorflow.data.replay import CannotRewrite, copy_op, must_change, replay
from twinrun.adapters.tensorflow.data.sites import Site, op_site

ENDLESS = (1 << 63) - 1
CYCLE_LENGTH = 16  # in the place of "as many as this machine has cores"
Resolve = Callable[[Any], Any]


@dataclass(frozen=True)
class Change:
    """One thing that was changed: where, and what."""

    stage: str
    kind: str
    site: Site | None
    what: str

    def __str__(self) -> str:
        place = f" ({self.site})" if self.site is not None else ""
        return f"stage {self.stage}, {self.kind}{place}: {self.what}"


class Rewriter:
    """Builds the stages of one pipeline again. Lives as long as the dataset it has made."""

    def __init__(self, pipeline: Pipeline, stages: tuple[Stage, ...], sorted_sources: frozenset[str]) -> None:
        self.pipeline = pipeline
        self.keep_alive: list[Any] = []
        self.may_be_empty = False
        self.changes: dict[tuple[str, str], Change] = {}
        self._stages = {
            self._key(op): stage for stage in stages if (op := pipeline.ops.get(stage.number)) is not None
        }
        self._sorted = sorted_sources
        self._origins = pipeline.lifted.origins
        self._captures = {inner.op.name: outer for outer, inner in pipeline.lifted.graph.captures}
        self._needs: dict[tuple[int, str], bool] = {}
        self._cached: dict[str, Any] = {}

    # -- what has to change -------------------------------------------------------------------------------------------

    def needs(self, op: Any, *, nested: bool = False) -> bool:
        """Whether a stage, or anything it is fed by, has to be built again."""
        key = self._key(op)
        if key not in self._needs:
            self._needs[key] = False  # a dataset never feeds itself
            fed = any(
                self.needs(_through(one), nested=nested)
                for one in dataset_inputs(op)
                if is_dataset_op(_through(one)) or not nested
            )
            self._needs[key] = fed or self._own_need(op, nested)
        return self._needs[key]

    def _own_need(self, op: Any, nested: bool) -> bool:
        if op.type == "Placeholder":
            return op.name in self._sorted
        if op.type in SHUFFLES:
            unseeded = (argument(op, "seed"), argument(op, "seed2")) == (0, 0)
            # Inside a function a dataset is made anew for every element, so a seeded shuffle repeats there as it is.
            return unseeded or (not nested and argument(op, "reshuffle_each_iteration") is not False)
        if op.type in RANDOM_SOURCES:
            unseeded = (argument(op, "seed"), argument(op, "seed2")) == (0, 0)
            return unseeded or (not nested and argument(op, "rerandomize_each_iteration") is True)
        if argument(op, "deterministic") == "false" or argument(op, "sloppy") is True:
            return True
        if argument(op, "cycle_length") == -1:
            return True
        return any(must_change(graph, self) for graph in called_graphs(op))

    # -- top-level stages ---------------------------------------------------------------------------------------------

    def dataset(self, op: Any, scope: Pass, *, probing: bool = False) -> Any:
        """The variant tensor of a stage, built again in the graph being built when it has to be."""
        op = _through_op(op)
        origin = self._origins.get(op.name)
        if op.type == "Placeholder" and op.name in self._sorted:
            return self._sorted_source(op, origin)
        if not self.needs(op) and origin is not None:
            remember(origin)
            return origin._variant_tensor
        if op.type == "Placeholder":
            return self._captures[op.name]
        if op.type == "OptionsDataset" or (
            probing and (op.type in SHUFFLES or kind_of(op.type).word in ("cache", "prefetch"))
        ):  # type: ignore[union-attr]
            return self.dataset(dataset_inputs(op)[0].op, scope, probing=probing)
        if self._word(op) == "cache":
            return self._cache(op, scope)
        if self._word(op) == "repeat":
            return self._repeat(
                op, scope, lambda inner: self.dataset(dataset_inputs(op)[0].op, inner, probing=probing)
            )
        if self._word(op) == "snapshot":
            raise CannotRewrite(
                "snapshot() keeps what an earlier run drew, and the stages before it draw",
                hint="move the random stages behind snapshot()",
                where=self.where(op),
            )

        def resolve(tensor: Any) -> Any:
            if is_dataset_op(tensor.op) or tensor.op.name in self._origins:
                return self.dataset(tensor.op, scope, probing=probing)
            return self.value(tensor)

        return self._stage(op, scope, resolve, (self.number(op),))

    def value(self, tensor: Any) -> Any:
        """An argument of a top-level stage: a constant, or a tensor that was captured."""
        if tensor.op.type == "Placeholder":
            return self._captures[tensor.op.name]
        return copy_op(tensor.op, [self.value(one) for one in tensor.op.inputs]).outputs[tensor.value_index]

    def _cache(self, op: Any, scope: Pass) -> Any:
        """A cache must outlive the epoch, so it is made outside, over what the first epoch draws."""
        import tensorflow as tf

        if op.name not in self._cached:
            self.note(op, "keeps what epoch 0 draws, as it did; made once, outside the epochs")

            def make() -> Any:
                source = self.dataset(dataset_inputs(op)[0].op, Pass(scope.seed, tf.constant(0, tf.int64)))
                return copy_op(op, [source, *(self.value(one) for one in list(op.inputs)[1:])]).outputs[0]

            with tf.init_scope():
                made = tf.function(make, autograph=False)
                self._cached[op.name] = made()
                graph = made.get_concrete_function().graph
                self.keep_alive += [made, remember_graph(self._cached[op.name], graph)]
        return self._cached[op.name]

    def _sorted_source(self, op: Any, origin: Any) -> Any:
        import numpy as np
        import tensorflow as tf

        if op.name not in self._cached:
            with tf.init_scope():
                names = next(
                    tensor
                    for tensor in origin._tensors
                    if tensor.dtype == tf.string and tensor.shape.rank == 1
                )
                order = np.argsort(names.numpy(), kind="stable")
                tensors = tuple(tf.gather(tensor, order) for tensor in origin._tensors)
                ordered = tf.data.Dataset.from_tensor_slices(tensors)
                self._cached[op.name] = ordered._variant_tensor
                self.keep_alive.append(ordered)
            self.note(op, "file names sorted")
        return self._cached[op.name]

    # -- stages inside a function -------------------------------------------------------------------------------------

    def nested(self, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]) -> Any:
        """A stage that is built inside a function, for the function's present element."""
        number = [one.name for one in op.graph.get_operations() if is_dataset_op(one)].index(op.name)
        here = (*place, f"dataset {number}")
        if not self.needs(op, nested=True):
            return copy_op(op, [resolve(one) for one in op.inputs]).outputs[0]
        if self._word(op) == "repeat":
            below = _through(dataset_inputs(op)[0])
            if is_dataset_op(below):
                return self._repeat(
                    op, scope, lambda inner: self._again(below, inner, resolve, place), place=here
                )
        if op.type in ("OptionsDataset",):
            return resolve(dataset_inputs(op)[0])
        return self._stage(op, scope, resolve, here)

    def _again(self, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]) -> Any:
        """What a repeat() inside a function repeats, with other draws in each turn."""

        def inner(tensor: Any) -> Any:
            below = _through(tensor)
            return self.nested(below, scope, inner, place) if is_dataset_op(below) else resolve(tensor)

        return self.nested(op, scope, inner, place)

    # -- one stage ----------------------------------------------------------------------------------------------------

    def _stage(self, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]) -> Any:
        from twinrun.adapters.tensorflow.data import stagewise

        if op.type in SHUFFLES:
            return stagewise.shuffle(self, op, scope, resolve, place)
        if op.type in RANDOM_SOURCES:
            return stagewise.random(self, op, scope, resolve, place)
        handler = stagewise.BY_WORD.get(self._word(op))
        if handler is not None and any(must_change(graph, self) for graph in called_graphs(op)):
            return handler(self, op, scope, resolve, place)
        if any(must_change(graph, self) for graph in called_graphs(op)):
            raise CannotRewrite(
                f"a draw in the function of {self._word(op)}() cannot be keyed by element",
                hint="draw in a map() before it",
                where=self.where(op),
            )
        return self._copy(op, resolve)

    def _copy(self, op: Any, resolve: Resolve) -> Any:
        """The same stage on its new input, with its order fixed."""
        import tensorflow as tf

        changed: dict[str, Any] = {}
        inputs = [resolve(one) for one in op.inputs]
        if argument(op, "deterministic") == "false":
            changed["deterministic"] = {"s": b"true"}
            self.note_order(op)
        if argument(op, "sloppy") is True:
            if argument_tensor(op, "sloppy") is None:
                changed["sloppy"] = {"b": False}
            else:
                inputs[_place_of(op, "sloppy")] = tf.constant(False)
            self.note(op, "keeps its order (sloppy=False)")
        if argument(op, "cycle_length") == -1:
            cycle, calls = self.cycle(op)
            inputs[_place_of(op, "cycle_length")] = tf.constant(cycle, tf.int64)
            if calls is not None:
                inputs[_place_of(op, "num_parallel_calls")] = tf.constant(calls, tf.int64)
        return copy_op(op, inputs, **changed).outputs[0]

    def cycle(self, op: Any) -> tuple[int, int | None]:
        """A cycle length that does not depend on the machine, and a number of calls that fits it."""
        self.note(op, f"cycle_length={CYCLE_LENGTH}, where TensorFlow would take the number of cores")
        calls = argument(op, "num_parallel_calls")
        return CYCLE_LENGTH, None if calls is None else min(int(calls), CYCLE_LENGTH)

    def _repeat(self, op: Any, scope: Scope, build: Callable[[Any], Any], place: tuple[Any, ...] = ()) -> Any:
        """repeat() as a walk over the numbers of its turns, so that each turn draws by its own number."""
        import tensorflow as tf

        from twinrun.adapters.tensorflow.data import stagewise

        place = place or (self.number(op),)
        count = argument(op, "count")
        endless = count is None or int(count) < 0
        specs = stagewise.specs_of(op)
        turns = tf.data.Dataset.range(ENDLESS if endless else int(count))
        if endless and isinstance(scope, Pass) and self._is_of_unknown_length(op):
            self.may_be_empty = True
            # repeat() ends when its input has nothing to give; a walk over endless turns would not
            first = stagewise.flat(self.dataset(dataset_inputs(op)[0].op, scope, probing=True), specs).take(1)
            turns = first.map(lambda *_: tf.constant(0, tf.int64)).flat_map(
                lambda _: tf.data.Dataset.range(ENDLESS)
            )
        self.note(op, "each turn draws by its own number")

        def turn_of(turn: Any) -> Any:
            number = tf.constant(-1 if endless else int(count), tf.int64)
            return stagewise.flat(build(scope.repetition(turn, number, *place)), specs)

        return turns.flat_map(turn_of)._variant_tensor

    def _is_of_unknown_length(self, op: Any) -> bool:
        """Whether nothing is known about how many elements come in, and one can be looked at without calling Python."""
        below = _through(dataset_inputs(op)[0])
        origin = self._origins.get(below.name)
        stage = self._stages.get(self._key(below))
        known = None if stage is None else stage.attributes.get("elements")
        return (
            origin is not None
            and known is None
            and not any(facts.host for stage in self.pipeline.stages for facts in stage.functions)
        )

    # -- names --------------------------------------------------------------------------------------------------------

    def function(self, op: Any, name: str) -> Any:
        return function_graph(op.graph, op.get_attr(name).name)

    def replay(self, graph: Any, inputs: list[Any], scope: Scope | None, place: tuple[Any, ...]) -> list[Any]:
        return replay(graph, inputs, scope, self, place)

    def note_order(self, op: Any) -> None:
        self.note(op, "keeps its order (deterministic=True), as parallel as before")

    def note(self, op: Any, what: str) -> None:
        stage = self._stages.get(self._key(op))
        number = stage.number if stage is not None else "?"
        kind = stage.kind if stage is not None else self._word(op)
        site = stage.site if stage is not None else op_site(op)
        self.changes.setdefault((number, what), Change(number, kind, site, what))

    def where(self, op: Any) -> str | None:
        stage = self._stages.get(self._key(op))
        site = op_site(op) if op.graph is not self.pipeline.lifted.graph else None
        site = site or (stage.site if stage is not None else None)
        return None if site is None else str(site)

    def number(self, op: Any) -> str:
        stage = self._stages.get(self._key(op))
        return op.name if stage is None else stage.number

    @staticmethod
    def _key(op: Any) -> tuple[int, str]:
        return id(op.graph), op.name

    @staticmethod
    def _word(op: Any) -> str:
        kind = kind_of(op.type)
        return op.type if kind is None else kind.word


def _through(tensor: Any) -> Any:
    return _through_op(tensor.op)


def _through_op(op: Any) -> Any:
    while op.type == "Identity":
        op = op.inputs[0].op
    return op


def _place_of(op: Any, name: str) -> int:
    tensor = argument_tensor(op, name)
    return next(place for place, one in enumerate(op.inputs) if one is tensor)
