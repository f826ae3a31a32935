"""A dataset's graph walked into stages: what each is, how it runs, what its functions do, who built it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from twinrun.pipelines import op_arguments, stage_functions
from twinrun.pipelines.build_sites import Site, dataset_site, op_site
from twinrun.pipelines.dataset_kinds import KNOWN_OPS, kind_of, parallelism_argument
from twinrun.pipelines.dataset_recipes import SOURCES
from twinrun.pipelines.lifted_graph import Lifted, captured_dataset, lift
from twinrun.pipelines.python_draws import callable_site

# Arguments and attributes worth reading, under the names tf.data's own methods have for them.
_VALUES = """
    batch_size block_length buffer_size cardinality count cycle_length deterministic drop_remainder filename index
    num_parallel_calls num_shards rerandomize_each_iteration reshuffle_each_iteration seed seed2 sloppy
"""
# Public functions that end in an op of another name, which the user would not recognise on its own.
_NAMED_BY_CALL = "list_files sample_from_datasets rejection_resample from_generator ragged_batch enumerate"


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
    functions: tuple[stage_functions.FunctionFacts, ...] = ()
    parallel: bool = False
    captured: bool = False  # it belongs to a dataset made outside the function that uses it
    order: str = "unknown"
    randomness: str = "unknown"
    notes: tuple[str, ...] = ()

    @property
    def depth(self) -> int:
        return self.number.count(".")

    @property
    def where(self) -> str | None:
        return None if self.site is None else str(self.site)

    @property
    def seeds(self) -> tuple[Any, Any] | None:
        """The stage's pair of seeds, None for a stage that has none. (0, 0) means not seeded."""
        return (self.attributes["seed"], self.attributes["seed2"]) if "seed" in self.attributes else None


Stages = tuple[Stage, ...]


@dataclass(frozen=True)
class Pipeline:
    """All stages, sources first, and the lifted graph they were read from."""

    stages: tuple[Stage, ...]
    lifted: Lifted
    ops: Mapping[str, Any]  # stage number: its op
    datasets: Mapping[str, Any]  # stage number: the dataset object, where there is one


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
        op = op_arguments.past_identities(tensor.op)
        key = (id(op.graph), op.name)
        if key not in self._numbers:
            inputs = [self.tensor(one, prefix, inside) for one in op_arguments.dataset_inputs(op)]
            self._counts[prefix] = self._counts.get(prefix, 0) + 1
            self._numbers[key] = number = f"{prefix}{self._counts[prefix]}"
            self._stage(op, number, tuple(one for one in inputs if one), inside)
        return self._numbers[key]

    def _stage(self, op: Any, number: str, inputs: tuple[str, ...], inside: Stage | None) -> None:
        ours = op.graph is self.lifted.graph
        origin = self.lifted.origins.get(op.name) if ours else None
        unread = self.lifted.unread.get(op.name) if ours else None
        op_type = _op_type(op, origin)
        graphs = stage_functions.called_graphs(op)
        site = op_site(op) if origin is None else dataset_site(origin)
        attributes = _attributes(op, origin) | ({} if unread is None else {"unread": True})
        stage = Stage(
            number=number,
            kind=_kind(op_type, site),
            op=op_type,
            known=op_type in KNOWN_OPS or op_type == "element",
            inputs=inputs,
            inside=None if inside is None else inside.number,
            site=site or _function_site(origin),
            attributes=MappingProxyType(attributes),
            functions=tuple(stage_functions.facts_of(graph) for graph in graphs),
            parallel=_is_parallel(op, inside),
            notes=() if unread is None else (unread,),
        )
        place = len(self.stages)
        self.stages.append(stage)
        self.ops[number] = op
        if origin is not None:
            self.datasets[number] = origin
        for graph in graphs:
            for one in stage_functions.ops_within(graph):
                if stage_functions.is_dataset_op(one):
                    self.tensor(one.outputs[0], f"{number}.", stage)
        for one in op.inputs if ours and op.type != "Placeholder" else ():
            if self._is_captured(one):  # a dataset that a function has captured is part of the pipeline too
                self._captured(one, number, stage)
        # stages of its functions come before the stage itself, as its inputs do
        self.stages.append(self.stages.pop(place))

    def _is_captured(self, tensor: Any) -> bool:
        placeholder = tensor.dtype.name == "variant" and tensor.op.type == "Placeholder"
        return placeholder and tensor.op.name not in self.lifted.origins

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


def _op_type(op: Any, origin: Any) -> str:
    if op.type != "Placeholder":
        return str(op.type)
    if origin is None:
        return "element"  # a dataset that is itself an element: a window, a group, a captured dataset
    name = type(origin).__name__
    return SOURCES.get(name, name)


def _kind(op_type: str, site: Site | None) -> str:
    """What the user called it: several public functions end in the same op."""
    kind = "window element" if op_type == "element" else kind_of(op_type)
    call = None if site is None else site.call
    return f"{call}: {kind}" if call in _NAMED_BY_CALL.split() and call != kind else kind


def _is_parallel(op: Any, inside: Stage | None) -> bool:
    """Whether several calls of this stage's functions can run at the same time."""
    name = parallelism_argument(op.type)
    if name == "" or (inside is not None and inside.parallel):
        return True
    if name is None:
        return False
    calls = op_arguments.argument(op, name)
    return calls is None or int(calls) != 1


def _attributes(op: Any, origin: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    names = {one.name for one in (*op.op_def.input_arg, *op.op_def.attr)}
    for name in (one for one in _VALUES.split() if one in names):
        value, tensor = op_arguments.argument(op, name), op_arguments.argument_tensor(op, name)
        if value is None and tensor is not None:
            value = "drawn by key" if op_arguments.is_drawn_by_key(tensor) else "computed"
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
    """Without noted sites, a stage with a function still has the line of its function."""
    for function in origin._functions() if origin is not None else ():
        site = callable_site(getattr(function, "_func", None))
        if site is not None:
            return site
    return None
