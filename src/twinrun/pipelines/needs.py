"""Which stages have to be built again for a pipeline to repeat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twinrun.pipelines import random_ops
from twinrun.pipelines.judge import RANDOM_SOURCES, SHUFFLES
from twinrun.pipelines.op_arguments import argument, dataset_inputs, past_identities
from twinrun.pipelines.python_draws import undecorated
from twinrun.pipelines.stage_functions import (
    called_graphs,
    feeds_seeds,
    host_call,
    is_dataset_op,
    ops_within,
    python_function,
)


class Needs:
    """Answers for the ops of one pipeline, each found once. `sorted_sources` are file names to be sorted."""

    def __init__(self, sorted_sources: frozenset[str], unread: Mapping[str, str]) -> None:
        self.sorted_sources = sorted_sources
        self.unread = unread
        self._found: dict[tuple[int, str], bool] = {}
        self._functions: dict[int, bool] = {}

    def stage(self, op: Any, *, nested: bool = False) -> bool:
        """Whether a stage, or anything it is fed by, has to be built again."""
        key = id(op.graph), op.name
        if key not in self._found:
            self._found[key] = False  # a dataset never feeds itself
            below = [past_identities(one.op) for one in dataset_inputs(op)]
            fed = any(self.stage(one, nested=nested) for one in below if is_dataset_op(one) or not nested)
            self._found[key] = fed or self._own(op, nested)
        return self._found[key]

    def functions_of(self, op: Any) -> bool:
        """Whether anything in a stage's functions has to be rewritten."""
        return any(self.function(graph) for graph in called_graphs(op))

    def function(self, graph: Any) -> bool:
        """Whether anything in a function, or in what it calls or builds, has to be rewritten."""
        if id(graph) not in self._functions:
            self._functions[id(graph)] = any(self._op(op) for op in ops_within(graph))
        return self._functions[id(graph)]

    def _op(self, op: Any) -> bool:
        if is_draw(op):
            return True
        if op.type in random_ops.HOST:
            return draws_in_python(op)
        if op.type in random_ops.WRITES:
            return feeds_seeds(op)
        return is_dataset_op(op) and self.stage(op, nested=True)

    def _own(self, op: Any, nested: bool) -> bool:
        if op.type == "Placeholder":
            return op.name in self.sorted_sources
        if op.type in SHUFFLES or op.type in RANDOM_SOURCES:
            if (argument(op, "seed"), argument(op, "seed2")) == (0, 0):
                return True
            again = "rerandomize_each_iteration" if op.type in RANDOM_SOURCES else "reshuffle_each_iteration"
            # Inside a function a dataset is made anew for every element: a seeded shuffle repeats as it is.
            return not nested and argument(op, again) is True
        if argument(op, "deterministic") == "false" or argument(op, "sloppy") is True:
            return True
        if not nested and op.name in self.unread:  # whether it gave its order up could not be read
            return True
        return argument(op, "cycle_length") == -1 or self.functions_of(op)


def is_draw(op: Any) -> bool:
    """Whether an op draws from a state: its own, a generator's, or the machine's."""
    return op.type in random_ops.STATEFUL | random_ops.GENERATOR | random_ops.ENTROPY


def draws_in_python(op: Any) -> bool:
    """Whether an op calls Python that draws, and not yet by element."""
    keyed = hasattr(undecorated(python_function(op)), "__twinrun_element__")
    return not keyed and bool(host_call(op).draws)
