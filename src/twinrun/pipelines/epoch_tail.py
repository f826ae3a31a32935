"""The end of a pipeline, kept outside the part that is built anew for every epoch.

Building a stage with a function costs TensorFlow some ten milliseconds, each epoch again. Most pipelines end
in random maps, a batch and a prefetch, and those need nothing of the epoch but the number from which its elements are
counted: the count travels with them, and the stages are built once, where TensorFlow's own optimisations reach them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twinrun.pipelines.draw_keys import Pass, element
from twinrun.pipelines.keyed_stages import (
    KEYED,
    flat,
    input_specs,
    numbers_from,
)
from twinrun.pipelines.op_arguments import (
    argument,
    argument_list,
    argument_tensor,
    dataset_inputs,
)

if TYPE_CHECKING:
    from twinrun.pipelines.rewriter import Rewriter

_MAPS = ("MapDataset", "ParallelMapDatasetV2")
_PLAIN = {
    "BatchDatasetV2": ("batch_size", "drop_remainder"),
    "ParallelBatchDataset": ("batch_size", "drop_remainder", "num_parallel_calls"),
    "OptionsDataset": (),
    "PrefetchDataset": ("buffer_size",),
    "SkipDataset": ("count",),
    "TakeDataset": ("count",),
}


class Tail:
    """The stages from a pipeline's last random maps to its end, bottom first."""

    def __init__(self, rewriter: Rewriter, stages: list[Any]) -> None:
        self._rewriter = rewriter
        self._stages = stages
        self.source = dataset_inputs(stages[0])[0]
        self._specs = input_specs(rewriter, self.source)
        self._last_keyed = max(place for place, op in enumerate(stages) if _is_keyed(rewriter, op))

    def epoch(self, scope: Pass) -> Any:
        """What the tail is fed with in one epoch: each element behind its key."""
        import tensorflow as tf

        source = flat(self._rewriter.dataset(self.source.op, scope), self._specs)
        return tf.data.Dataset.zip((numbers_from(scope.base()), source))

    def on(self, dataset: Any) -> Any:
        """The tail's stages on a dataset of such pairs."""
        for place, op in enumerate(self._stages):
            if op.type in _MAPS:
                dataset = self._map(dataset, op, place)
            elif op.type == "PrefetchDataset":
                dataset = dataset.prefetch(argument(op, "buffer_size"))
            elif op.type == "TakeDataset":
                dataset = dataset.take(argument(op, "count"))
            elif op.type == "SkipDataset":
                dataset = dataset.skip(argument(op, "count"))
            elif op.type != "OptionsDataset":
                dataset = self._batch(dataset, op)
        return dataset

    def _map(self, dataset: Any, op: Any, place: int) -> Any:
        rewriter = self._rewriter
        graph = rewriter.function(op, "f")
        captures = [rewriter.value(one) for one in argument_list(op, "other_arguments")]
        here = (rewriter.number(op), "f")
        calls = argument(op, "num_parallel_calls")
        order = None if calls is None else True
        if _is_keyed(rewriter, op):
            rewriter.note(op, KEYED)

        def keyed(key: Any, given: Any) -> Any:
            outputs = tuple(rewriter.replay(graph, [*given, *captures], element(key), here))
            return (key, outputs) if place < self._last_keyed else outputs

        def plain(*given: Any) -> tuple[Any, ...]:
            return tuple(rewriter.replay(graph, [*given, *captures], None, here))

        return dataset.map(
            keyed if place <= self._last_keyed else plain, num_parallel_calls=calls, deterministic=order
        )

    def _batch(self, dataset: Any, op: Any) -> Any:
        calls = argument(op, "num_parallel_calls")
        if argument(op, "deterministic") == "false":
            self._rewriter.note_order(op)
        order = None if calls is None else True
        size, rest = argument(op, "batch_size"), bool(argument(op, "drop_remainder"))
        return dataset.batch(size, drop_remainder=rest, num_parallel_calls=calls, deterministic=order)


def tail_of(rewriter: Rewriter) -> Tail | None:
    """The tail of a pipeline, or None when it does not end in random maps and what may follow them."""
    stages: list[Any] = []
    op = rewriter.pipeline.lifted.output.op
    while (op.type in _PLAIN or op.type in _MAPS) and _is_static(op):
        stages.append(op)
        op = dataset_inputs(op)[0].op
    keyed = next(
        (place for place, one in enumerate(stages) if one.type in _MAPS and _is_keyed(rewriter, one)), None
    )
    if keyed is None:
        return None
    lowest = keyed
    while lowest + 1 < len(stages) and stages[lowest + 1].type in _MAPS:
        lowest += 1
    while not _is_keyed(
        rewriter, stages[lowest]
    ):  # plain maps below the last random one can stay where they are
        lowest -= 1
    return Tail(rewriter, stages[: lowest + 1][::-1])


def _is_static(op: Any) -> bool:
    names = _PLAIN.get(op.type, ("num_parallel_calls",))
    return all(argument_tensor(op, name) is None or argument(op, name) is not None for name in names)


def _is_keyed(rewriter: Rewriter, op: Any) -> bool:
    return op.type in _MAPS and rewriter.needs.functions_of(op)
