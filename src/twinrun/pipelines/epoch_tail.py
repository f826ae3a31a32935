"""The end of a pipeline, kept outside the part that is rebuilt for every epoch.

Building a stage with a function takes TensorFlow some ten milliseconds, in each epoch again. Most pipelines end in random
maps, a batch and a prefetch, and those need nothing of the epoch but the number from which its elements are counted: the
number travels with them, and the stages are built once, where TensorFlow's own optimizations apply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twinrun.pipelines.dataset_kinds import kind_of
from twinrun.pipelines.draw_keys import Pass
from twinrun.pipelines.keyed_stages import KEEPS_ORDER, KEYED, Work, flat, input_specs, numbered
from twinrun.pipelines.op_arguments import argument, argument_tensor, dataset_inputs

if TYPE_CHECKING:
    from twinrun.pipelines.rewriter import Rewriter

_MAPS = ("MapDataset", "ParallelMapDatasetV2")
_PLAIN = {  # op: the arguments that must be known to build it once
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
        self._source = dataset_inputs(stages[0])[0]
        self._last_keyed = max(place for place, op in enumerate(stages) if _is_keyed(rewriter, op))

    def epoch(self, scope: Pass) -> Any:
        """The tail's input in one epoch: each element with its key."""
        variant = self._rewriter.dataset(self._source.op, scope)
        return numbered(scope, flat(variant, input_specs(self._rewriter, self._source)))

    def on(self, dataset: Any) -> Any:
        """The tail's stages on a dataset of such pairs."""
        for place, op in enumerate(self._stages):
            kind = kind_of(op.type)
            if kind == "map":
                dataset = self._map(dataset, op, place)
            elif kind == "batch":
                dataset = self._batch(dataset, op)
            elif kind != "options":  # take, skip, prefetch
                dataset = getattr(dataset, kind)(argument(op, _PLAIN[op.type][0]))
        return dataset

    def _map(self, dataset: Any, op: Any, place: int) -> Any:
        rewriter = self._rewriter
        function = Work(rewriter, op, None, rewriter.value, (rewriter.number(op),)).function("f")
        if _is_keyed(rewriter, op):
            rewriter.note(op, KEYED)

        def keyed(key: Any, given: Any) -> Any:
            outputs = function(key, given)
            return (key, outputs) if place < self._last_keyed else outputs

        def plain(*given: Any) -> tuple[Any, ...]:
            return function(None, given)

        return dataset.map(keyed if place <= self._last_keyed else plain, **_parallelism(op))

    def _batch(self, dataset: Any, op: Any) -> Any:
        if argument(op, "deterministic") == "false":
            self._rewriter.note(op, KEEPS_ORDER)
        size, rest = argument(op, "batch_size"), bool(argument(op, "drop_remainder"))
        return dataset.batch(size, drop_remainder=rest, **_parallelism(op))


def tail_of(rewriter: Rewriter) -> Tail | None:
    """The tail of a pipeline, or None when it does not end in random maps and what may follow them."""
    stages: list[Any] = []
    op = rewriter.pipeline.lifted.output.op
    while (op.type in _PLAIN or op.type in _MAPS) and _is_static(op):
        stages.append(op)
        op = dataset_inputs(op)[0].op
    lowest = next((place for place, one in enumerate(stages) if _is_keyed(rewriter, one)), None)
    if lowest is None:
        return None
    while lowest + 1 < len(stages) and stages[lowest + 1].type in _MAPS:
        lowest += 1
    while not _is_keyed(rewriter, stages[lowest]):  # plain maps below the first random one stay in the epoch
        lowest -= 1
    return Tail(rewriter, stages[: lowest + 1][::-1])


def _parallelism(op: Any) -> dict[str, Any]:
    calls = argument(op, "num_parallel_calls")
    return {"num_parallel_calls": calls, "deterministic": None if calls is None else True}


def _is_static(op: Any) -> bool:
    names = _PLAIN.get(op.type, ("num_parallel_calls",))
    return all(argument_tensor(op, name) is None or argument(op, name) is not None for name in names)


def _is_keyed(rewriter: Rewriter, op: Any) -> bool:
    return op.type in _MAPS and rewriter.needs.functions_of(op)
