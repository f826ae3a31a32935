"""How each kind of random stage is built again: its input numbered, its function keyed by that number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from twinrun.pipelines.draw_keys import Pass, Scope, element
from twinrun.pipelines.op_arguments import (
    argument,
    argument_list,
    argument_tensor,
    past_identities,
)

if TYPE_CHECKING:
    from twinrun.pipelines.rewriter import Rewriter

Resolve = Callable[[Any], Any]
KEYED = "its draws follow from (seed, epoch, element index); as parallel as before"


@dataclass(frozen=True)
class Work:
    """One stage to be built again: its op, the scope of its draws, and how its inputs are found."""

    rewriter: Rewriter
    op: Any
    scope: Any  # a Pass for a top-level stage, the Scope of an element inside a function
    resolve: Resolve
    place: tuple[Any, ...]

    def given(self, name: str) -> Any:
        """An argument of the stage in the graph being built, None when it has none of this name."""
        tensor = argument_tensor(self.op, name)
        return None if tensor is None else self.resolve(tensor)

    def captures(self, name: str = "other_arguments") -> list[Any]:
        """What one of the stage's functions has captured."""
        return [self.resolve(one) for one in argument_list(self.op, name)]

    def note(self, what: str) -> None:
        self.rewriter.note(self.op, what)

    def numbered(self, specs: tuple[Any, ...]) -> Any:
        """The stage's input with its elements numbered."""
        import tensorflow as tf

        source = flat(self.given("input_dataset"), specs)
        return tf.data.Dataset.zip((numbers_from(self.scope.base()), source))

    def seeds(self, *, each_epoch: bool) -> Any:
        """Two seeds for a shuffle or a random source: the same in every epoch, or not."""
        fixed = not each_epoch and isinstance(self.scope, Pass)
        scope: Scope = self.scope.without_epoch() if fixed else self.scope
        self.note("seeded from (seed)" if fixed else "seeded from (seed, epoch)")
        return scope.number(*self.place, "seeds", count=2, dtype="int64")


class Keyed:
    """A stage's function as a Python function of a number and a flat element."""

    def __init__(self, work: Work, name: str = "f", captures: str = "other_arguments") -> None:
        import tensorflow as tf

        self._work, self._place = work, (*work.place, name)
        self._graph = work.rewriter.function(work.op, name)
        self._captures = work.captures(captures)
        given = self._graph.inputs[: len(self._graph.inputs) - len(self._captures)]
        self.specs = tuple(tf.TensorSpec(one.shape, one.dtype) for one in given)

    def __call__(self, index: Any, arguments: Any) -> tuple[Any, ...]:
        inputs = [*arguments, *self._captures]
        return tuple(self._work.rewriter.replay(self._graph, inputs, element(index), self._place))


def flat(variant: Any, specs: tuple[Any, ...]) -> Any:
    """A dataset over a variant tensor whose elements are flat tuples of tensors."""
    from tensorflow.python.data.ops import dataset_ops

    return dataset_ops._VariantDataset(variant, specs)


def specs_of(op: Any) -> tuple[Any, ...]:
    """The flat element specs of what a dataset op gives."""
    import tensorflow as tf

    names = {attr.name for attr in op.op_def.attr}
    types = op.get_attr("output_types" if "output_types" in names else "Toutput_types")
    pairs = zip(op.get_attr("output_shapes"), types, strict=True)
    return tuple(tf.TensorSpec(tf.TensorShape(shape), dtype) for shape, dtype in pairs)


def input_specs(rewriter: Rewriter, tensor: Any) -> tuple[Any, ...]:
    """The flat element specs of a top-level dataset, whatever made it."""
    import tensorflow as tf

    op = past_identities(tensor.op)
    origin = rewriter.pipeline.lifted.origins.get(op.name)
    if origin is None:
        return specs_of(op)
    pairs = zip(origin._flat_shapes, origin._flat_types, strict=True)
    return tuple(tf.TensorSpec(shape, dtype) for shape, dtype in pairs)


def numbers_from(base: Any) -> Any:
    """The keys of a stage's elements: their indices, counted from the base of a scope."""
    import tensorflow as tf

    return tf.data.Dataset.range(base, (1 << 63) - 1, output_type=tf.uint64)


def map_(work: Work) -> Any:
    keyed, calls = Keyed(work), work.given("num_parallel_calls")
    work.note(KEYED)
    order = None if calls is None else True
    numbered = work.numbered(keyed.specs)
    return numbered.map(keyed, num_parallel_calls=calls, deterministic=order)._variant_tensor


def map_and_batch(work: Work) -> Any:
    keyed = Keyed(work)
    work.note(KEYED)
    numbered = work.numbered(keyed.specs)
    mapped = numbered.map(keyed, num_parallel_calls=work.given("num_parallel_calls"), deterministic=True)
    rest = bool(argument(work.op, "drop_remainder"))
    return mapped.batch(work.given("batch_size"), drop_remainder=rest)._variant_tensor


def filter_(work: Work) -> Any:
    keyed = Keyed(work, "predicate")
    work.note(KEYED)
    kept = work.numbered(keyed.specs).filter(lambda index, given: keyed(index, given)[0])
    return kept.map(lambda _, given: given)._variant_tensor


def take_while(work: Work) -> Any:
    keyed = Keyed(work, "predicate")
    work.note(KEYED)
    kept = work.numbered(keyed.specs).take_while(lambda index, given: keyed(index, given)[0])
    return kept.map(lambda _, given: given)._variant_tensor


def flat_map(work: Work) -> Any:
    keyed, specs = Keyed(work), specs_of(work.op)
    work.note("the stages inside it are keyed by its elements")
    numbered = work.numbered(keyed.specs)
    return numbered.flat_map(lambda index, given: flat(keyed(index, given)[0], specs))._variant_tensor


def interleave(work: Work) -> Any:
    keyed, specs = Keyed(work), specs_of(work.op)
    work.note("the stages inside it are keyed by its elements; as parallel as before")
    cycle, calls = work.given("cycle_length"), work.given("num_parallel_calls")
    if argument(work.op, "cycle_length") == -1:
        cycle, calls = work.rewriter.cycle(work.op)
    elif work.op.type == "LegacyParallelInterleaveDatasetV2":
        calls = cycle  # it reads a whole cycle at once
    woven = work.numbered(keyed.specs).interleave(
        lambda index, given: flat(keyed(index, given)[0], specs),
        cycle_length=cycle,
        block_length=work.given("block_length"),
        num_parallel_calls=calls,
        deterministic=None if calls is None else True,
    )
    return woven._variant_tensor


def scan(work: Work) -> Any:
    keyed, state = Keyed(work), work.captures("initial_state")
    work.note(KEYED)
    size = len(state)

    def step(before: Any, numbered: Any) -> Any:
        index, given = numbered
        after = keyed(index, [*before, *given])
        return after[:size], after[size:]

    return work.numbered(keyed.specs[size:]).scan(tuple(state), step)._variant_tensor


def group_by_window(work: Work) -> Any:
    import tensorflow as tf

    key = Keyed(work, "key_func", "key_func_other_arguments")
    reduce = Keyed(work, "reduce_func", "reduce_func_other_arguments")
    size = Keyed(work, "window_size_func", "window_size_func_other_arguments")
    specs, base = specs_of(work.op), tf.cast(work.scope.base(), tf.uint64)
    work.note("the stages inside it are keyed by the first element of each window")

    def reduced(group: Any, window: Any) -> Any:
        first = window.take(1).map(lambda index, _: index).get_single_element()
        plain = window.map(lambda _, given: given)
        return flat(reduce(first, [group, plain._variant_tensor])[0], specs)

    grouped = work.numbered(key.specs).group_by_window(
        key_func=lambda index, given: key(index, given)[0],
        reduce_func=reduced,
        window_size_func=lambda group: size(base + tf.bitcast(group, tf.uint64), [group])[0],
    )
    return grouped._variant_tensor


def generator(work: Work) -> Any:
    """from_generator: the Python generator runs on, and each of its elements has a stream of its own."""
    from tensorflow.python.data.ops import from_generator_op

    work.note("each element of the generator draws from its own stream")
    graphs = {
        name: work.rewriter.function(work.op, name) for name in ("init_func", "next_func", "finalize_func")
    }
    captures = {name: work.captures(f"{name}_other_args") for name in graphs}
    count = len(graphs["init_func"].inputs)
    start, captures["init_func"] = tuple(captures["init_func"][:count]), captures["init_func"][count:]

    def replayed(name: str) -> Callable[..., Any]:
        def call(*given: Any) -> tuple[Any, ...]:
            inputs = [*given, *captures[name]]
            return tuple(work.rewriter.replay(graphs[name], inputs, work.scope, (*work.place, name)))

        return call

    made = from_generator_op._GeneratorDataset(start, *map(replayed, graphs), specs_of(work.op))
    return made._variant_tensor


def shuffle(work: Work) -> Any:
    import tensorflow as tf

    again = argument(work.op, "reshuffle_each_iteration") is not False
    seeds = work.seeds(each_epoch=again)
    form = {
        "output_types": work.op.get_attr("output_types"),
        "output_shapes": work.op.get_attr("output_shapes"),
    }
    common = {"input_dataset": work.given("input_dataset"), "seed": seeds[0], "seed2": seeds[1], **form}
    if work.op.type == "GlobalShuffleDataset":
        none = tf.raw_ops.DummySeedGenerator()
        return tf.raw_ops.GlobalShuffleDataset(seed_generator=none, reshuffle_each_iteration=False, **common)
    shuffled = tf.raw_ops.ShuffleDataset(  # the one without a resource: an iterator over it can be saved
        buffer_size=work.given("buffer_size"), reshuffle_each_iteration=again, **common
    )
    count = work.given("count")  # shuffle_and_repeat
    return (
        shuffled if count is None else tf.raw_ops.RepeatDataset(input_dataset=shuffled, count=count, **form)
    )


def random(work: Work) -> Any:
    import tensorflow as tf

    seeds = work.seeds(each_epoch=argument(work.op, "rerandomize_each_iteration") is True)
    form = {
        "output_types": work.op.get_attr("output_types"),
        "output_shapes": work.op.get_attr("output_shapes"),
    }
    return tf.raw_ops.RandomDataset(seed=seeds[0], seed2=seeds[1], **form)


BY_WORD: dict[str, Callable[[Work], Any]] = {
    "filter": filter_,
    "flat_map": flat_map,
    "from_generator": generator,
    "group_by_window": group_by_window,
    "interleave": interleave,
    "map": map_,
    "map_and_batch": map_and_batch,
    "parallel_interleave": interleave,
    "scan": scan,
    "take_while": take_while,
}
