"""How each kind of random stage is rebuilt: its input numbered, its function keyed by that number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops, from_generator_op

from twinrun.pipelines.dataset_kinds import RANDOM_SOURCES, kind_of
from twinrun.pipelines.draw_keys import Pass, Place, Scope, element
from twinrun.pipelines.function_replay import replay
from twinrun.pipelines.op_arguments import (
    argument,
    argument_list,
    argument_tensor,
    dataset_inputs,
    past_identities,
)

if TYPE_CHECKING:
    from twinrun.pipelines.rewriter import Rewriter

Resolve = Callable[[Any], Any]
Specs = tuple[Any, ...]  # of the tensors of a flat element
KEEPS_ORDER = "keeps its order, as parallel as before"
KEYED = "its draws follow from (seed, epoch, element index); as parallel as before"
_INSIDE = "the stages inside it are keyed by its elements"
_BY_WINDOW = "the stages inside it are keyed by the first element of each window"
_ENDLESS = (1 << 63) - 1


@dataclass(frozen=True)
class Work:
    """One stage to be rebuilt: its op, the scope of its draws, and how its inputs are found."""

    rewriter: Rewriter
    op: Any
    scope: Any  # a Pass for a top-level stage, the Scope of an element inside a function
    resolve: Resolve
    place: Place

    def given(self, name: str) -> Any:
        """An argument of the stage in the graph being built, None when it has none of this name."""
        tensor = argument_tensor(self.op, name)
        return None if tensor is None else self.resolve(tensor)

    def captures(self, name: str = "other_arguments") -> list[Any]:
        """What one of the stage's functions has captured."""
        return [self.resolve(one) for one in argument_list(self.op, name)]

    def function(self, name: str, captures: str = "other_arguments") -> Keyed:
        graph, captured = self.rewriter.function(self.op, name), self.captures(captures)
        return Keyed(self.rewriter, graph, captured, (*self.place, name))

    def numbered(self, specs: Specs) -> Any:
        """The stage's input with its elements numbered."""
        return numbered(self.scope, flat(self.given("input_dataset"), specs))

    def seeds(self, *, each_epoch: bool) -> Any:
        """Two seeds for a shuffle or a random source: the same in every epoch, or not."""
        fixed = not each_epoch and isinstance(self.scope, Pass)
        scope: Scope = self.scope.without_epoch() if fixed else self.scope
        self.rewriter.note(self.op, "seeded from (seed)" if fixed else "seeded from (seed, epoch)")
        return scope.number(*self.place, "seeds", count=2, dtype="int64")


@dataclass(frozen=True)
class Keyed:
    """A stage's function as a Python function of a number and a flat element. Without a number it draws nothing."""

    rewriter: Rewriter
    graph: Any
    captures: list[Any]
    place: Place

    @property
    def specs(self) -> Specs:
        """The specs of its arguments."""
        given = self.graph.inputs[: len(self.graph.inputs) - len(self.captures)]
        return tuple(tf.TensorSpec(one.shape, one.dtype) for one in given)

    def __call__(self, index: Any, arguments: Any) -> tuple[Any, ...]:
        return self.in_scope(None if index is None else element(index), arguments)

    def in_scope(self, scope: Scope | None, arguments: Any) -> tuple[Any, ...]:
        inputs = [*arguments, *self.captures]
        return tuple(replay(self.graph, inputs, scope, self.rewriter, self.place))


def flat(variant: Any, specs: Specs) -> Any:
    """A dataset over a variant tensor whose elements are flat tuples of tensors."""
    return dataset_ops._VariantDataset(variant, specs)


def numbered(scope: Scope, dataset: Any) -> Any:
    """(key, element) for each element of a dataset: its index, counted from the base of a scope."""
    keys = tf.data.Dataset.range(scope.base(), _ENDLESS, output_type=tf.uint64)
    return tf.data.Dataset.zip((keys, dataset))


def specs_of(op: Any) -> Specs:
    """The flat element specs of a dataset op's elements."""
    names = {attr.name for attr in op.op_def.attr}
    types = op.get_attr("output_types" if "output_types" in names else "Toutput_types")
    pairs = zip(op.get_attr("output_shapes"), types, strict=True)
    return tuple(tf.TensorSpec(tf.TensorShape(shape), dtype) for shape, dtype in pairs)


def input_specs(rewriter: Rewriter, tensor: Any) -> Specs:
    """The flat element specs of a top-level dataset, whatever made it."""
    op = past_identities(tensor.op)
    origin = rewriter.pipeline.lifted.origins.get(op.name)
    if origin is None:
        return specs_of(op)
    pairs = zip(origin._flat_shapes, origin._flat_types, strict=True)
    return tuple(tf.TensorSpec(shape, dtype) for shape, dtype in pairs)


# -- stages whose functions draw: each returns the new dataset ------------------------------------------------


def _map(work: Work) -> Any:
    keyed, calls = work.function("f"), work.given("num_parallel_calls")
    order = None if calls is None else True
    mapped = work.numbered(keyed.specs).map(keyed, num_parallel_calls=calls, deterministic=order)
    if kind_of(work.op.type) == "map":
        return mapped
    rest = bool(argument(work.op, "drop_remainder"))  # map_and_batch
    return mapped.batch(work.given("batch_size"), drop_remainder=rest)


def _select(work: Work) -> Any:
    """filter and take_while."""
    keyed = work.function("predicate")
    select = getattr(work.numbered(keyed.specs), kind_of(work.op.type))
    return select(lambda index, given: keyed(index, given)[0]).map(lambda _, given: given)


def _flat_map(work: Work) -> Any:
    keyed, specs = work.function("f"), specs_of(work.op)
    return work.numbered(keyed.specs).flat_map(lambda index, given: flat(keyed(index, given)[0], specs))


def _interleave(work: Work) -> Any:
    keyed, specs = work.function("f"), specs_of(work.op)
    cycle, calls = work.given("cycle_length"), work.given("num_parallel_calls")
    if argument(work.op, "cycle_length") == -1:
        cycle, calls = work.rewriter.cycle(work.op)
    elif work.op.type == "LegacyParallelInterleaveDatasetV2":
        calls = cycle  # it reads a whole cycle at once
    return work.numbered(keyed.specs).interleave(
        lambda index, given: flat(keyed(index, given)[0], specs),
        cycle_length=cycle,
        block_length=work.given("block_length"),
        num_parallel_calls=calls,
        deterministic=None if calls is None else True,
    )


def _scan(work: Work) -> Any:
    keyed, state = work.function("f"), work.captures("initial_state")
    size = len(state)

    def step(before: Any, pair: Any) -> Any:
        index, given = pair
        after = keyed(index, [*before, *given])
        return after[:size], after[size:]

    return work.numbered(keyed.specs[size:]).scan(tuple(state), step)


def _group_by_window(work: Work) -> Any:
    names = ("key_func", "reduce_func", "window_size_func")
    key, reduce, size = (work.function(name, f"{name}_other_arguments") for name in names)
    specs, base = specs_of(work.op), tf.cast(work.scope.base(), tf.uint64)

    def reduced(group: Any, window: Any) -> Any:
        first = window.take(1).map(lambda index, _: index).get_single_element()
        plain = window.map(lambda _, given: given)
        return flat(reduce(first, [group, plain._variant_tensor])[0], specs)

    return work.numbered(key.specs).group_by_window(
        key_func=lambda index, given: key(index, given)[0],
        reduce_func=reduced,
        window_size_func=lambda group: size(base + tf.bitcast(group, tf.uint64), [group])[0],
    )


def _from_generator(work: Work) -> Any:
    """The Python generator runs on, and each of its elements has a stream of its own."""
    names = ("init_func", "next_func", "finalize_func")
    init, *others = (work.function(name, f"{name}_other_args") for name in names)
    count = len(init.graph.inputs)
    start, init = tuple(init.captures[:count]), replace(init, captures=init.captures[count:])

    def replayed(function: Keyed) -> Callable[..., Any]:
        return lambda *given: function.in_scope(work.scope, given)

    return from_generator_op._GeneratorDataset(start, *map(replayed, (init, *others)), specs_of(work.op))


# Each kind of stage whose function may draw: how it is rebuilt, and what is listed as its change.
HANDLERS: dict[str, tuple[Callable[[Work], Any], str]] = {
    "filter": (_select, KEYED),
    "flat_map": (_flat_map, _INSIDE),
    "from_generator": (_from_generator, "each element of the generator draws from its own stream"),
    "group_by_window": (_group_by_window, _BY_WINDOW),
    "interleave": (_interleave, f"{_INSIDE}; as parallel as before"),
    "map": (_map, KEYED),
    "map_and_batch": (_map, KEYED),
    "parallel_interleave": (_interleave, f"{_INSIDE}; as parallel as before"),
    "scan": (_scan, KEYED),
    "take_while": (_select, KEYED),
}


# -- stages that draw themselves, and repetition: each returns the new dataset's tensor ------------------------


def shuffle_or_random(work: Work) -> Any:
    """A shuffle or a random source, with its seeds drawn by key."""
    form = {name: work.op.get_attr(name) for name in ("output_types", "output_shapes")}
    if work.op.type in RANDOM_SOURCES:
        seeds = work.seeds(each_epoch=argument(work.op, "rerandomize_each_iteration") is True)
        return tf.raw_ops.RandomDataset(seed=seeds[0], seed2=seeds[1], **form)
    again = argument(work.op, "reshuffle_each_iteration") is not False
    seeds = work.seeds(each_epoch=again)
    common = {"input_dataset": work.given("input_dataset"), "seed": seeds[0], "seed2": seeds[1], **form}
    if work.op.type == "GlobalShuffleDataset":
        none = tf.raw_ops.DummySeedGenerator()
        return tf.raw_ops.GlobalShuffleDataset(seed_generator=none, reshuffle_each_iteration=False, **common)
    shuffled = tf.raw_ops.ShuffleDataset(  # the one without a resource: an iterator over it can be saved
        buffer_size=work.given("buffer_size"), reshuffle_each_iteration=again, **common
    )
    count = work.given("count")
    if count is None:
        return shuffled
    return tf.raw_ops.RepeatDataset(input_dataset=shuffled, count=count, **form)  # shuffle_and_repeat


def repeat(work: Work, build: Callable[[Scope], Any]) -> Any:
    """repeat() as a loop over the numbers of its repetitions: `build` makes the dataset for each one's scope."""
    count = argument(work.op, "count")
    turns = -1 if count is None or int(count) < 0 else int(count)
    specs = specs_of(work.op)
    numbers = tf.data.Dataset.range(_ENDLESS if turns < 0 else turns)
    if turns < 0 and isinstance(work.scope, Pass) and _may_be_empty(work):
        numbers = _endless_unless_empty(work, specs)
    work.rewriter.note(work.op, "each repetition draws by its own number")

    def repetition(number: Any) -> Any:
        scope = work.scope.repetition(number, tf.constant(turns, tf.int64), *work.place)
        return flat(build(scope), specs)

    return numbers.flat_map(repetition)._variant_tensor


def _may_be_empty(work: Work) -> bool:
    """Whether the number of elements is not known, and can be found out without calling Python."""
    stages = work.rewriter.pipeline.stages
    calls_python = any(facts.host for stage in stages for facts in stage.functions)
    return work.rewriter.elements_into(work.op) is None and not calls_python


def _endless_unless_empty(work: Work, specs: Specs) -> Any:
    """Endless numbers, or none: repeat() ends when its input is empty, and so must the loop."""
    work.rewriter.may_be_empty = True
    source = dataset_inputs(work.op)[0].op
    first = flat(work.rewriter.dataset(source, work.scope, probing=True), specs).take(1)
    started = first.map(lambda *_: tf.constant(0, tf.int64))
    return started.flat_map(lambda _: tf.data.Dataset.range(_ENDLESS))
