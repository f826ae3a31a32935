"""A dataset's graph walked into stages: what each is, how it runs, what its functions do, who built it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from twinrun.pipelines.build_sites import Site, callable_site, dataset_site, op_site
from twinrun.pipelines.captured import captured_dataset
from twinrun.pipelines.dataset_kinds import kind_of, word_of
from twinrun.pipelines.lift import Lifted, lift, source_op
from twinrun.pipelines.op_arguments import (
    argument,
    argument_tensor,
    dataset_inputs,
    is_drawn_by_key,
    past_identities,
)
from twinrun.pipelines.stage_functions import (
    FunctionFacts,
    called_graphs,
    facts_of,
    is_dataset_op,
    ops_within,
)

# Arguments and attributes worth reading, under the names tf.data's own methods have for them.
_VALUES = (
    "batch_size",
    "block_length",
    "buffer_size",
    "cardinality",
    "count",
    "cycle_length",
    "deterministic",
    "drop_remainder",
    "filename",
    "index",
    "num_parallel_calls",
    "num_shards",
    "rerandomize_each_iteration",
    "reshuffle_each_iteration",
    "seed",
    "seed2",
    "sloppy",
)


@dataclass(frozen=True)
class Stage:
    """One transformation. `number` is its place (`3`, or `3.1` for one built inside stage 3's function)."""

    number: str
    kind: str
    op: str
    known: bool
    inputs: tuple[str, ...] = ()
    inside: str | None = None
    site: Site | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    functions: tuple[FunctionFacts, ...] = ()
    parallel: bool = False
    captured: bool = False  # it belongs to a dataset made outside the function that uses it
    order: str = "unknown"
    randomness: str = "unknown"
    notes: tuple[str, ...] = ()

    @property
    def depth(self) -> int:
        return self.number.count(".")

    @property
    def seeds(self) -> tuple[Any, Any] | None:
        """The stage's pair of seeds, None for a stage that has none. (0, 0) means not seeded."""
        return (self.attributes["seed"], self.attributes["seed2"]) if "seed" in self.attributes else None


@dataclass(frozen=True)
class Pipeline:
    """All stages, sources first, and the lifted graph they were read from."""

    stages: tuple[Stage, ...]
    lifted: Lifted
    ops: Mapping[str, Any]  # stage number: its op
    datasets: Mapping[str, Any]  # stage number: the dataset object, where there is one

    def stage(self, number: str) -> Stage:
        return next(stage for stage in self.stages if stage.number == number)


def read(dataset: Any) -> Pipeline:
    """Walk a dataset into its stages."""
    lifted = lift(dataset)
    walk = _Walk(lifted)
    walk.tensor(lifted.output, "", None)
    return Pipeline(tuple(walk.stages), lifted, MappingProxyType(walk.ops), MappingProxyType(walk.datasets))


class _Walk:
    def __init__(self, lifted: Lifted) -> None:
        self.lifted = lifted
        self.stages: list[Stage] = []
        self.ops: dict[str, Any] = {}
        self.datasets: dict[str, Any] = {}
        self._numbers: dict[tuple[int, str], str] = {}
        self._counts: dict[str, int] = {}

    def tensor(self, tensor: Any, prefix: str, inside: Stage | None) -> str | None:
        """The number of the stage that a dataset tensor comes from, walking it first when it is new."""
        op = past_identities(tensor.op)
        key = (id(op.graph), op.name)
        if key not in self._numbers:
            inputs = [self.tensor(one, prefix, inside) for one in dataset_inputs(op)]
            number = self._next(prefix)
            self._numbers[key] = number
            self._stage(op, number, tuple(one for one in inputs if one), inside)
        return self._numbers[key]

    def _next(self, prefix: str) -> str:
        self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}{self._counts[prefix]}"

    def _stage(self, op: Any, number: str, inputs: tuple[str, ...], inside: Stage | None) -> None:
        origin = self.lifted.origins.get(op.name) if op.graph is self.lifted.graph else None
        unread = self.lifted.unread.get(op.name) if op.graph is self.lifted.graph else None
        op_type = op.type if op.type != "Placeholder" else self._placeholder(origin)
        kind = kind_of(op_type)
        graphs = called_graphs(op)
        site = dataset_site(origin) if origin is not None else op_site(op)
        stage = Stage(
            number=number,
            kind=_word(op_type, site),
            op=op_type,
            known=kind is not None or op_type == "element",
            inputs=inputs,
            inside=None if inside is None else inside.number,
            site=site or _function_site(origin),
            attributes=MappingProxyType(
                _attributes(op, origin) | ({} if unread is None else {"unread": True})
            ),
            functions=tuple(facts_of(graph) for graph in graphs),
            parallel=_is_parallel(op, inside),
            notes=() if unread is None else (unread,),
        )
        place = len(self.stages)
        self.stages.append(stage)
        self.ops[number] = op
        if origin is not None:
            self.datasets[number] = origin
        for graph in graphs:
            for one in ops_within(graph):
                if is_dataset_op(one):
                    self.tensor(one.outputs[0], f"{number}.", stage)
        for one in op.inputs:  # a dataset that a function has captured is part of the pipeline too
            if op.graph is self.lifted.graph and _is_captured_dataset(one, op, self.lifted):
                self._captured(one, number, stage)
        # stages of its functions come before the stage itself, as its inputs do
        self.stages.append(self.stages.pop(place))

    def _placeholder(self, origin: Any) -> str:
        if origin is None:
            return "element"  # a dataset that is itself an element: a window, a group, a captured dataset
        return source_op(origin) or type(origin).__name__

    def _captured(self, tensor: Any, number: str, stage: Stage) -> None:
        eager = next((outer for outer, inner in self.lifted.graph.captures if inner is tensor), None)
        inner = None if eager is None else captured_dataset(eager)
        if inner is None:
            return
        walk = _Walk(inner)
        walk._counts = {f"{number}.": self._counts.get(f"{number}.", 0)}
        walk.tensor(inner.output, f"{number}.", stage)
        self._counts |= walk._counts
        self.stages += [replace(one, captured=True) for one in walk.stages]
        self.ops |= walk.ops


def _word(op_type: str, site: Site | None) -> str:
    """What the user called it: several public functions end in the same op."""
    word = "window element" if op_type == "element" else word_of(op_type)
    call = site.call if site is not None else None
    if call in (
        "list_files",
        "sample_from_datasets",
        "rejection_resample",
        "from_generator",
        "ragged_batch",
        "enumerate",
    ):
        return word if word == call else f"{call}: {word}"
    return word


def _is_captured_dataset(tensor: Any, op: Any, lifted: Lifted) -> bool:
    import tensorflow as tf

    captured = tensor.dtype == tf.variant and tensor.op.type == "Placeholder"
    return captured and tensor.op.name not in lifted.origins and op.type != "Placeholder"


def _is_parallel(op: Any, inside: Stage | None) -> bool:
    """Whether several calls of this stage's functions can run at the same time."""
    if inside is not None and inside.parallel:
        return True
    kind = kind_of(op.type)
    if kind is None or kind.parallel is None:
        return False
    if kind.parallel == "":
        return True
    calls = argument(op, kind.parallel)
    return calls is None or int(calls) != 1


def _attributes(op: Any, origin: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    names = {arg.name for arg in op.op_def.input_arg} | {attr.name for attr in op.op_def.attr}
    if op.type != "Placeholder":
        for name in _VALUES:
            if name in names:
                value, tensor = argument(op, name), argument_tensor(op, name)
                if value is None and tensor is not None:
                    value = "drawn by key" if is_drawn_by_key(tensor) else "computed"
                found[name] = value
    elements = _cardinality(origin)
    if elements is not None:
        found["elements"] = elements
    return found


def _cardinality(origin: Any) -> int | None:
    """How many elements come out, where TensorFlow knows without running. -1: infinitely many."""
    from tensorflow.python.framework import ops

    if origin is None or not isinstance(origin._variant_tensor, ops.EagerTensor):
        return None
    with ops.init_scope():
        known = int(origin.cardinality().numpy())
    return None if known == -2 else known


def _function_site(origin: Any) -> Site | None:
    """Without noted sites, a stage with a function still has the place where its function is written."""
    for function in origin._functions() if origin is not None else ():
        site = callable_site(getattr(function, "_func", None))
        if site is not None:
            return site
    return None
