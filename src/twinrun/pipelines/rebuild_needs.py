"""Which stages have to be rebuilt for a pipeline to repeat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twinrun.pipelines import random_ops, stage_functions
from twinrun.pipelines.dataset_kinds import RANDOM_SOURCES, SHUFFLES
from twinrun.pipelines.op_arguments import argument, dataset_inputs, past_identities


class RebuildNeeds:
    """Answers for the ops of one pipeline, each computed once. `sorted_sources`: file names to be sorted."""

    def __init__(self, sorted_sources: frozenset[str], unread: Mapping[str, str]) -> None:
        self.sorted_sources = sorted_sources
        self.unread = unread
        self._found: dict[tuple[int, str], bool] = {}
        self._functions: dict[int, bool] = {}

    def stage(self, op: Any, *, nested: bool = False) -> bool:
        """Whether a stage, or any stage that feeds it, has to be rebuilt."""
        key = id(op.graph), op.name
        if key not in self._found:
            self._found[key] = False  # a dataset never feeds itself
            below = [past_identities(one.op) for one in dataset_inputs(op)]
            fed = any(
                self.stage(one, nested=nested)
                for one in below
                if stage_functions.is_dataset_op(one) or not nested
            )
            self._found[key] = fed or self._own(op, nested)
        return self._found[key]

    def functions_of(self, op: Any) -> bool:
        """Whether anything in a stage's functions, or in what they call or build, has to be rewritten."""
        return any(self._function(graph) for graph in stage_functions.called_graphs(op))

    def _function(self, graph: Any) -> bool:
        if id(graph) not in self._functions:
            self._functions[id(graph)] = any(self._op(op) for op in stage_functions.ops_within(graph))
        return self._functions[id(graph)]

    def _op(self, op: Any) -> bool:
        if op.type in random_ops.HOST:
            return stage_functions.draws_in_python(op)
        if op.type in random_ops.WRITES:
            return stage_functions.feeds_seeds(op)
        return op.type in random_ops.DRAWS or (
            stage_functions.is_dataset_op(op) and self.stage(op, nested=True)
        )

    def _own(self, op: Any, nested: bool) -> bool:
        if op.type == "Placeholder":
            return op.name in self.sorted_sources
        if op.type in SHUFFLES or op.type in RANDOM_SOURCES:
            if (argument(op, "seed"), argument(op, "seed2")) == (0, 0):
                return True
            again = "rerandomize_each_iteration" if op.type in RANDOM_SOURCES else "reshuffle_each_iteration"
            # Inside a function a dataset is created for every element: a seeded shuffle repeats as it is.
            return not nested and argument(op, again) is True
        if argument(op, "deterministic") == "false" or argument(op, "sloppy") is True:
            return True
        if not nested and op.name in self.unread:  # whether it keeps its order could not be read
            return True
        return argument(op, "cycle_length") == -1 or self.functions_of(op)
