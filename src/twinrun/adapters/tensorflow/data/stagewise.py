"""How each kind of random stage is built again: its input numbered, its function keyed by that number."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from twinrun.adapters.tensorflow.data.graph import argument, argument_tensor
from twinrun.adapters.tensorflow.data.keys import Pass, Scope, element

if TYPE_CHECKING:
    from twinrun.adapters.tensorflow.data.rewrite import Resolve, Rewriter

KEYED = "its draws follow from (seed, epoch, element index); as parallel as before"


def flat(variant: Any, specs: tuple[Any, ...]) -> Any:
    """A dataset over a variant tensor whose elements are flat tuples of tensors."""
    from tensorflow.python.data.ops import dataset_ops

    return dataset_ops._VariantDataset(variant, specs)


def specs_of(op: Any) -> tuple[Any, ...]:
    """The flat element specs of what a dataset op gives."""
    import tensorflow as tf

    types = op.get_attr("output_types" if _has(op, "output_types") else "Toutput_types")
    shapes = op.get_attr("output_shapes")
    return tuple(
        tf.TensorSpec(tf.TensorShape(shape), dtype) for shape, dtype in zip(shapes, types, strict=True)
    )


def _has(op: Any, name: str) -> bool:
    return any(attr.name == name for attr in op.op_def.attr)


def input_specs(rewriter: Rewriter, tensor: Any) -> tuple[Any, ...]:
    """The flat element specs of a dataset tensor, whatever made it."""
    import tensorflow as tf

    op = tensor.op
    while op.type == "Identity":
        op = op.inputs[0].op
    origin = (
        rewriter.pipeline.lifted.origins.get(op.name) if op.graph is rewriter.pipeline.lifted.graph else None
    )
    if origin is not None:
        pairs = zip(origin._flat_shapes, origin._flat_types, strict=True)
        return tuple(tf.TensorSpec(shape, dtype) for shape, dtype in pairs)
    return specs_of(op)


def numbers_from_zero() -> Any:
    import tensorflow as tf

    return tf.data.Dataset.range((1 << 63) - 1, output_type=tf.uint64)


def _numbered(op: Any, resolve: Resolve, specs: tuple[Any, ...]) -> Any:
    """The input of a stage with its elements numbered."""
    import tensorflow as tf

    source = flat(resolve(argument_tensor(op, "input_dataset")), specs)
    return tf.data.Dataset.zip((numbers_from_zero(), source))


def captures_of(op: Any, resolve: Resolve, suffix: str) -> list[Any]:
    """The captured tensors of a function: one of an op's lists of arguments."""
    place = 0
    for arg in op.op_def.input_arg:
        count = 1
        if arg.type_list_attr:
            count = len(op.get_attr(arg.type_list_attr))
            if arg.name == suffix:
                return [resolve(one) for one in list(op.inputs)[place : place + count]]
        elif arg.number_attr:
            count = op.get_attr(arg.number_attr)
        place += count
    return []


class _Keyed:
    """A stage's function as a Python function of a number and a flat element."""

    def __init__(
        self,
        rewriter: Rewriter,
        op: Any,
        scope: Scope,
        resolve: Resolve,
        place: tuple[Any, ...],
        name: str = "f",
        captures: str = "other_arguments",
    ) -> None:
        self.rewriter, self.place = rewriter, (*place, name)
        self.graph = rewriter.function(op, name)
        self.captures = captures_of(op, resolve, captures)
        self.base = scope.base()
        count = len(self.graph.inputs) - len(self.captures)
        import tensorflow as tf

        self.specs = tuple(tf.TensorSpec(one.shape, one.dtype) for one in self.graph.inputs[:count])

    def __call__(self, index: Any, arguments: Any) -> tuple[Any, ...]:
        inputs = [*arguments, *self.captures]
        return tuple(self.rewriter.replay(self.graph, inputs, element(self.base, index), self.place))


def _calls(op: Any, resolve: Resolve) -> Any:
    tensor = argument_tensor(op, "num_parallel_calls")
    return None if tensor is None else resolve(tensor)


def map_(rewriter: Rewriter, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]) -> Any:
    keyed = _Keyed(rewriter, op, scope, resolve, place)
    rewriter.note(op, KEYED)
    calls = _calls(op, resolve)
    order = None if calls is None else True
    return (
        _numbered(op, resolve, keyed.specs)
        .map(keyed, num_parallel_calls=calls, deterministic=order)
        ._variant_tensor
    )


def map_and_batch(rewriter: Rewriter, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]) -> Any:
    keyed = _Keyed(rewriter, op, scope, resolve, place)
    rewriter.note(op, KEYED)
    mapped = _numbered(op, resolve, keyed.specs).map(
        keyed, num_parallel_calls=_calls(op, resolve), deterministic=True
    )
    size, rest = resolve(argument_tensor(op, "batch_size")), argument(op, "drop_remainder")
    return mapped.batch(size, drop_remainder=bool(rest))._variant_tensor


def filter_(rewriter: Rewriter, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]) -> Any:
    keyed = _Keyed(rewriter, op, scope, resolve, place, "predicate")
    rewriter.note(op, KEYED)
    kept = _numbered(op, resolve, keyed.specs).filter(lambda index, element: keyed(index, element)[0])
    return kept.map(lambda _, element: element)._variant_tensor


def take_while(rewriter: Rewriter, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]) -> Any:
    keyed = _Keyed(rewriter, op, scope, resolve, place, "predicate")
    rewriter.note(op, KEYED)
    kept = _numbered(op, resolve, keyed.specs).take_while(lambda index, element: keyed(index, element)[0])
    return kept.map(lambda _, element: element)._variant_tensor


def flat_map(rewriter: Rewriter, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]) -> Any:
    keyed = _Keyed(rewriter, op, scope, resolve, place)
    rewriter.note(op, "the stages inside it are keyed by its elements")
    specs = specs_of(op)
    numbered = _numbered(op, resolve, keyed.specs)
    return numbered.flat_map(lambda index, element: flat(keyed(index, element)[0], specs))._variant_tensor


def interleave(rewriter: Rewriter, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]) -> Any:
    keyed = _Keyed(rewriter, op, scope, resolve, place)
    rewriter.note(op, "the stages inside it are keyed by its elements; as parallel as before")
    specs = specs_of(op)
    cycle, calls = resolve(argument_tensor(op, "cycle_length")), _calls(op, resolve)
    if argument(op, "cycle_length") == -1:
        cycle, calls = rewriter.cycle(op)
    elif op.type == "LegacyParallelInterleaveDatasetV2":
        calls = cycle  # it reads a whole cycle at once
    return (
        _numbered(op, resolve, keyed.specs)
        .interleave(
            lambda index, element: flat(keyed(index, element)[0], specs),
            cycle_length=cycle,
            block_length=resolve(argument_tensor(op, "block_length")),
            num_parallel_calls=calls,
            deterministic=None if calls is None else True,
        )
        ._variant_tensor
    )


def scan(rewriter: Rewriter, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]) -> Any:
    keyed = _Keyed(rewriter, op, scope, resolve, place)
    rewriter.note(op, KEYED)
    state = captures_of(op, resolve, "initial_state")
    size = len(state)

    def step(before: Any, numbered: Any) -> Any:
        index, element = numbered
        after = keyed(index, [*before, *element])
        return after[:size], after[size:]

    numbered = _numbered(op, resolve, keyed.specs[size:])
    return numbered.scan(tuple(state), step)._variant_tensor


def group_by_window(
    rewriter: Rewriter, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]
) -> Any:
    import tensorflow as tf

    key = _Keyed(rewriter, op, scope, resolve, place, "key_func", "key_func_other_arguments")
    reduce = _Keyed(rewriter, op, scope, resolve, place, "reduce_func", "reduce_func_other_arguments")
    size = _Keyed(rewriter, op, scope, resolve, place, "window_size_func", "window_size_func_other_arguments")
    rewriter.note(op, "the stages inside it are keyed by the first element of each window")
    specs = specs_of(op)

    def reduced(group: Any, window: Any) -> Any:
        first = window.take(1).map(lambda index, _: index).get_single_element()
        plain = window.map(lambda _, element: element)
        return flat(reduce(first, [group, plain._variant_tensor])[0], specs)

    numbered = _numbered(op, resolve, key.specs)
    return numbered.group_by_window(
        key_func=lambda index, element: key(index, element)[0],
        reduce_func=reduced,
        window_size_func=lambda group: size(tf.bitcast(group, tf.uint64), [group])[0],
    )._variant_tensor


def generator(rewriter: Rewriter, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]) -> Any:
    """from_generator: the Python generator runs on, and each of its elements has a stream of its own."""
    from tensorflow.python.data.ops import from_generator_op

    rewriter.note(op, "each element of the generator draws from its own stream")
    specs = specs_of(op)
    parts = {
        name: captures_of(op, resolve, f"{name}_other_args")
        for name in ("init_func", "next_func", "finalize_func")
    }

    def replayed(name: str, count: int) -> Callable[..., Any]:
        graph = rewriter.function(op, name)
        captures = parts[name][count:] if name == "init_func" else parts[name]
        return lambda *given: tuple(rewriter.replay(graph, [*given, *captures], scope, (*place, name)))

    graph = rewriter.function(op, "init_func")
    start = tuple(parts["init_func"][: len(graph.inputs)])
    made = from_generator_op._GeneratorDataset(
        start,
        replayed("init_func", len(start)),
        replayed("next_func", 0),
        replayed("finalize_func", 0),
        specs,
    )
    return made._variant_tensor


def shuffle(rewriter: Rewriter, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]) -> Any:
    import tensorflow as tf

    repeated = argument(op, "reshuffle_each_iteration") is not False
    fixed = not repeated and isinstance(scope, Pass)
    seeds = (scope.without_epoch() if fixed else scope).number(*place, "seeds", count=2, dtype="int64")  # type: ignore[attr-defined]
    rewriter.note(op, "seeded from (seed)" if fixed else "seeded from (seed, epoch)")
    source = argument_tensor(op, "input_dataset")
    types, shapes = op.get_attr("output_types"), op.get_attr("output_shapes")
    if op.type == "GlobalShuffleDataset":
        return tf.raw_ops.GlobalShuffleDataset(
            input_dataset=resolve(source),
            seed=seeds[0],
            seed2=seeds[1],
            seed_generator=tf.raw_ops.DummySeedGenerator(),
            reshuffle_each_iteration=False,
            output_types=types,
            output_shapes=shapes,
        )
    shuffled = tf.raw_ops.ShuffleDataset(  # the one without a resource: an iterator over it can be saved
        input_dataset=resolve(source),
        buffer_size=resolve(argument_tensor(op, "buffer_size")),
        seed=seeds[0],
        seed2=seeds[1],
        reshuffle_each_iteration=repeated,
        output_types=types,
        output_shapes=shapes,
    )
    if argument_tensor(op, "count") is None:
        return shuffled
    count = resolve(argument_tensor(op, "count"))  # shuffle_and_repeat
    return tf.raw_ops.RepeatDataset(
        input_dataset=shuffled, count=count, output_types=types, output_shapes=shapes
    )


def random(rewriter: Rewriter, op: Any, scope: Scope, resolve: Resolve, place: tuple[Any, ...]) -> Any:
    import tensorflow as tf

    fixed = argument(op, "rerandomize_each_iteration") is not True and isinstance(scope, Pass)
    seeds = (scope.without_epoch() if fixed else scope).number(*place, "seeds", count=2, dtype="int64")  # type: ignore[attr-defined]
    rewriter.note(op, "seeded from (seed)" if fixed else "seeded from (seed, epoch)")
    return tf.raw_ops.RandomDataset(
        seed=seeds[0],
        seed2=seeds[1],
        output_types=op.get_attr("output_types"),
        output_shapes=op.get_attr("output_shapes"),
    )


BY_WORD: dict[str, Callable[..., Any]] = {
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
