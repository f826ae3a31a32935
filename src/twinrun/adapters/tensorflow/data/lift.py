"""A dataset's whole pipeline as one graph of raw ops, without copying what it holds.

TensorFlow can write a dataset out as a graph, but that copies every tensor in it: ten seconds for 600 MB of images, and
nothing above 2 GB. So a dataset object that keeps what it was made of is written down again as the same op, in a graph
of our own, over the same captured tensors; only what an object does not keep is read from TensorFlow's own graph. The
tests hold both ways against each other.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

from twinrun.errors import TwinrunError

READABLE_BYTES = 256 << 20  # above this, TensorFlow's own graph is not asked for: it copies the data


class NotADataset(TwinrunError):
    """Something else was handed over where a tf.data dataset is needed."""


@dataclass(frozen=True)
class Lifted:
    """The graph, the tensor that is the dataset, and for each op the dataset object (or nothing) it stands for."""

    graph: Any
    output: Any
    origins: dict[str, Any]
    unread: dict[str, str] = field(default_factory=dict)  # op name: why the stage could not be read


# How a class writes itself down: its op, and the op's arguments where they are not the attribute of the same name.
# `=x` is a value, `f:x` a wrapped function, `d:x` the datasets of an attribute.
_DUMMY_SEEDS = {"seed_generator": "=seed_generator"}
_RECIPES: dict[str, tuple[str, dict[str, str]]] = {
    "_BatchDataset": ("BatchDatasetV2", {}),
    "_ParallelBatchDataset": ("ParallelBatchDataset", {}),
    "CacheDataset": ("CacheDatasetV2", {"cache": "=memory_cache"}),
    "_ConcatenateDataset": ("ConcatenateDataset", {"another_dataset": "d:_dataset_to_concatenate"}),
    "_DirectedInterleaveDataset": (
        "DirectedInterleaveDataset",
        {"selector_input_dataset": "d:_selector_input", "data_input_datasets": "d:_data_inputs"},
    ),
    "_FilterDataset": ("FilterDataset", {"predicate": "f:_predicate"}),
    "_FlatMapDataset": ("FlatMapDataset", {"f": "f:_map_func"}),
    "_GroupByWindowDataset": (
        "GroupByWindowDataset",
        {
            "key_func": "f:_key_func",
            "reduce_func": "f:_reduce_func",
            "window_size_func": "f:_window_size_func",
        },
    ),
    "_IgnoreErrorsDataset": ("IgnoreErrorsDataset", {"log_warning": "?"}),
    "_InterleaveDataset": ("InterleaveDataset", {"f": "f:_map_func"}),
    "_MapAndBatchDataset": (
        "MapAndBatchDataset",
        {
            "f": "f:_map_func",
            "batch_size": "_batch_size_t",
            "num_parallel_calls": "_num_parallel_calls_t",
            "drop_remainder": "_drop_remainder_t",
            "preserve_cardinality": "=true",
        },
    ),
    "_MapDataset": ("MapDataset", {"f": "f:_map_func"}),
    "_PaddedBatchDataset": (
        "PaddedBatchDatasetV2",
        {"padded_shapes": "=padded_shapes", "padding_values": "=padding_values"},
    ),
    "_OptionsDataset": ("OptionsDataset", {"serialized_options": "=options"}),
    "_ParallelMapDataset": ("ParallelMapDatasetV2", {"f": "f:_map_func"}),
    "_ParallelInterleaveDataset": ("ParallelInterleaveDatasetV4", {"f": "f:_map_func", "deterministic": "?"}),
    "ParallelInterleaveDataset": ("LegacyParallelInterleaveDatasetV2", {"f": "f:_map_func"}),
    "_PrefetchDataset": ("PrefetchDataset", {"slack_period": "?", "legacy_autotune": "?"}),
    "_RepeatDataset": ("RepeatDataset", {}),
    "_ScanDataset": (
        "ScanDataset",
        {"f": "f:_scan_func", "initial_state": "=state", "use_default_device": "?"},
    ),
    "_ShardDataset": ("ShardDataset", {}),
    "_ShuffleDataset": ("ShuffleDatasetV3", _DUMMY_SEEDS),
    "_SkipDataset": ("SkipDataset", {}),
    "_TakeDataset": ("TakeDataset", {}),
    "_TakeWhileDataset": ("TakeWhileDataset", {"predicate": "f:_predicate"}),
    "_UnbatchDataset": ("UnbatchDataset", {}),
    "_UniqueDataset": ("UniqueDataset", {}),
    "_WindowDataset": ("WindowDataset", {}),
    "_ZipDataset": ("ZipDataset", {"input_datasets": "d:_datasets"}),
    "_AssertCardinalityDataset": ("AssertCardinalityDataset", {"cardinality": "_expected_cardinality"}),
}
# Attributes that no class keeps and that change neither order nor values: TensorFlow's default serves.
_HARMLESS = {
    "parallel_copy",
    "require_non_empty",
    "use_default_device",
    "slack_period",
    "legacy_autotune",
    "buffer_size_min",
    "log_warning",
}
# Sources stay as they are: captured, never written down again. Their class says all there is to know.
_SOURCES = {
    "_RangeDataset": "RangeDataset",
    "_TensorDataset": "TensorDataset",
    "_TensorSliceDataset": "TensorSliceDataset",
    "_SparseTensorSliceDataset": "SparseTensorSliceDataset",
    "_TFRecordDataset": "TFRecordDataset",
    "_TextLineDataset": "TextLineDataset",
    "_FixedLengthRecordDataset": "FixedLengthRecordDatasetV2",
    "MatchingFilesDataset": "MatchingFilesDataset",
    "CsvDatasetV2": "CSVDatasetV2",
    "SqlDatasetV2": "SqlDataset",
    "_ListDataset": "ListDataset",
}


def source_op(dataset: Any) -> str | None:
    """The op of a source dataset that was left as it is."""
    return _SOURCES.get(type(dataset).__name__)


def lift(dataset: Any) -> Lifted:
    """The pipeline of a dataset as a graph of raw ops. Nothing of the dataset is changed, and no seed is taken."""
    from tensorflow.python.data.ops import dataset_ops
    from tensorflow.python.framework import func_graph

    if not isinstance(dataset, dataset_ops.DatasetV2):
        raise NotADataset(
            f"a tf.data dataset is needed here, not {type(dataset).__name__}",
            hint="hand over the dataset itself, before iter()",
        )
    graph = func_graph.FuncGraph("twinrun_pipeline")
    lifter = _Lifter(graph)
    with graph.as_default():
        output = lifter.dataset(dataset)
    return Lifted(graph, output, lifter.origins, lifter.unread)


def unwrapped(dataset: Any) -> Any:
    """Past objects that add a structure or a version around another dataset and no stage of their own."""
    while True:
        for name in ("_impl", "_dataset", "_input_dataset"):
            inner = dataset.__dict__.get(name)
            if hasattr(inner, "_variant_tensor") and inner._variant_tensor is dataset._variant_tensor:
                break
        else:
            return dataset
        dataset = inner


class _Lifter:
    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.origins: dict[str, Any] = {}
        self.unread: dict[str, str] = {}
        self._done: dict[int, Any] = {}

    def dataset(self, dataset: Any) -> Any:
        dataset = unwrapped(dataset)
        if id(dataset) not in self._done:
            self._done[id(dataset)] = self._write(dataset)
        return self._done[id(dataset)]

    def _write(self, dataset: Any) -> Any:
        name = type(dataset).__name__
        if name in _SOURCES:
            output = self.graph.capture(dataset._variant_tensor)
        elif name == "_RandomDataset":
            output = self._random(dataset)
        elif name in _RECIPES:
            try:
                output = self._same_op(dataset, *_RECIPES[name])
            except _NotKept as missing:
                output = self._tensorflows_own(dataset, str(missing))
        else:
            output = self._tensorflows_own(dataset, f"{name} is not known")
        self.origins[output.op.name] = dataset
        return output

    def _random(self, dataset: Any) -> Any:
        if dataset._rerandomize:
            recipe = {"rerandomize_each_iteration": "_rerandomize", **_DUMMY_SEEDS}
            return self._same_op(dataset, "RandomDatasetV2", recipe)
        return self._same_op(dataset, "RandomDataset", {})

    def _same_op(self, dataset: Any, op_type: str, recipe: dict[str, str]) -> Any:
        import tensorflow as tf
        from tensorflow.python.framework import op_def_registry

        definition = op_def_registry.get(op_type)
        inferred = {arg.type_list_attr or arg.number_attr or arg.type_attr for arg in definition.input_arg}
        arguments: dict[str, Any] = {}
        functions: dict[str, Any] = {}
        names = [arg.name for arg in definition.input_arg]
        names += [attr.name for attr in definition.attr if attr.name not in inferred]
        for name in names:
            rule = recipe.get(name, "_" + name)
            if rule.startswith("f:"):
                functions[name] = getattr(dataset, rule[2:]).function
                arguments[name] = functions[name]
        for name in names:
            if name not in arguments:
                value = self._argument(dataset, name, recipe.get(name, "_" + name), functions)
                if value is not _DEFAULT:
                    arguments[name] = value
        return getattr(tf.raw_ops, op_type)(**arguments)

    def _argument(self, dataset: Any, name: str, rule: str, functions: dict[str, Any]) -> Any:
        import tensorflow as tf
        from tensorflow.python.data.util import nest, structure

        if name == "input_dataset":
            return self.dataset(
                dataset._input_dataset if "_input_dataset" in dataset.__dict__ else dataset._inputs()[0]
            )
        if name in ("output_types", "output_shapes"):
            return getattr(dataset, "_flat" + name.removeprefix("output"))
        if name == "metadata":
            return dataset._metadata.SerializeToString() if hasattr(dataset, "_name") else b""
        if name.endswith(("other_arguments", "other_args")):
            prefix = name.removesuffix("_other_arguments").removesuffix("_other_args")
            return (
                functions[prefix] if prefix in functions else next(iter(functions.values()))
            ).captured_inputs
        if rule.startswith("d:"):
            found = getattr(dataset, rule[2:])
            if hasattr(found, "_variant_tensor"):
                return self.dataset(found)
            return [self.dataset(one) for one in (found if isinstance(found, list) else nest.flatten(found))]
        if rule.startswith("="):
            return {
                "=seed_generator": tf.raw_ops.DummySeedGenerator,
                "=memory_cache": tf.raw_ops.DummyMemoryCache,
                "=true": lambda: True,
                "=options": lambda: dataset._options_attr._to_proto().SerializeToString(),
                "=padded_shapes": lambda: [
                    tf.convert_to_tensor(shape, tf.int64) for shape in nest.flatten(dataset._padded_shapes)
                ],
                "=padding_values": lambda: nest.flatten(dataset._padding_values),
                "=state": lambda: structure.to_tensor_list(dataset._state_structure, dataset._initial_state),
            }[rule]()
        if rule != "?" and rule in dataset.__dict__:
            return getattr(dataset, rule)
        if name in _HARMLESS:
            return _DEFAULT
        return self._from_own_node(dataset, name)

    def _from_own_node(self, dataset: Any, name: str) -> Any:
        """One attribute as TensorFlow's own graph has it, for the few that no object keeps."""
        graph = tensorflows_graph(dataset)
        value = next(node for node in graph.node if node.name == _root(graph)).attr[name]
        kind = value.WhichOneof("value")
        found = getattr(value, kind)
        return found.decode() if isinstance(found, bytes) else found

    def _tensorflows_own(self, dataset: Any, why: str) -> Any:
        """The subtree as TensorFlow writes it down, or the bare dataset when it cannot be written down."""
        from tensorflow.core.framework import types_pb2
        from tensorflow.python.eager import context
        from tensorflow.python.framework import importer

        try:
            graph = tensorflows_graph(dataset)
        except _NotKept as problem:
            output = self.graph.capture(dataset._variant_tensor)
            self.unread[output.op.name] = f"{why}; {problem}"
            return output
        root = _root(graph)
        cut = self._known_input(dataset, graph)
        kept = _reachable(graph, root, set(cut))
        for node in list(graph.node):
            if node.name not in kept:
                graph.node.remove(node)
            elif node.name in cut:  # stands for what it is replaced by; its own inputs are gone
                node.op = "Placeholder"
                del node.input[:]
                node.attr.clear()
                node.attr["dtype"].type = types_pb2.DT_VARIANT
        for function in list(graph.library.function):
            # What was traced in this process is known to it, without what TensorFlow adds when it writes a graph.
            if context.context().has_function(function.signature.name):
                graph.library.function.remove(function)
        (output,) = importer.import_graph_def(
            graph,
            input_map={f"{name}:0": tensor for name, tensor in cut.items()},
            return_elements=[root + ":0"],
            name=f"own_{len(self.origins)}",
        )
        return output

    def _known_input(self, dataset: Any, graph: Any) -> dict[str, Any]:
        """Where an unknown stage has one input, the input is still read our way: TensorFlow writes it first, under the
        same name as when it is written alone."""
        inputs = dataset._inputs()
        if len(inputs) != 1:
            return {}
        inner = unwrapped(inputs[0])
        name = _root(tensorflows_graph(inner))
        if not any(node.name == name for node in graph.node) or type(inner).__name__ in _SOURCES:
            return {}
        return {name: self.dataset(inner)}


def _root(graph: Any) -> str:
    return str(next(node.input[0] for node in graph.node if node.op == "_Retval"))


def _reachable(graph: Any, root: str, cut: set[str]) -> set[str]:
    nodes = {node.name: node for node in graph.node}
    found, waiting = set(), [root]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        if name not in cut:
            waiting += [one.lstrip("^").partition(":")[0] for one in nodes[name].input]
    return found


class _NotKept(Exception):
    """An attribute is neither on the object nor to be had from TensorFlow's own graph."""


class _Default:
    pass


_DEFAULT = _Default()


# Datasets, and graphs of datasets, by the tensor that stands for them: what a function captures is only the tensor.
_by_tensor: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def remember(dataset: Any) -> None:
    """Let a dataset be recognised where a function has captured it."""
    _by_tensor[id(dataset._variant_tensor)] = dataset


def remember_graph(variant: Any, graph: Any) -> Lifted:
    """Let a dataset that a function of ours has built be recognised. Known as long as the answer is kept."""
    origins = {}
    for outer, inner in graph.captures:
        known = _by_tensor.get(id(outer))
        if known is not None and getattr(known, "_variant_tensor", None) is outer:
            origins[inner.op.name] = known
    lifted = Lifted(graph, graph.outputs[0], origins)
    _by_tensor[id(variant)] = lifted
    return lifted


def captured_dataset(variant: Any) -> Lifted | None:
    """The pipeline of a dataset of which a function has captured the tensor, or None if it is no dataset."""
    from tensorflow.python.framework import func_graph

    known = _by_tensor.get(id(variant))
    if isinstance(known, Lifted):
        return known
    if known is not None and known._variant_tensor is variant:
        return lift(known)
    graph = func_graph.FuncGraph("twinrun_captured")
    lifter = _Lifter(graph)
    with graph.as_default():
        output = lifter._tensorflows_own(_Bare(variant), "it was captured by a function")
    return None if output.op.type == "Placeholder" else Lifted(graph, output, {}, {})


class _Bare:
    """A dataset of which nothing is known but its tensor."""

    def __init__(self, variant: Any) -> None:
        self._variant_tensor = variant

    def _inputs(self) -> list[Any]:
        return []

    def _functions(self) -> list[Any]:
        return []

    def _as_serialized_graph(self, external_state_policy: Any) -> Any:
        from tensorflow.python.ops import gen_dataset_ops

        return gen_dataset_ops.dataset_to_graph_v2(
            self._variant_tensor, external_state_policy=external_state_policy.value
        )


def tensorflows_graph(dataset: Any) -> Any:
    """TensorFlow's own graph of a dataset. Copies what the dataset holds, so it is refused for large ones."""
    from tensorflow.core.framework import graph_pb2
    from tensorflow.python.data.ops import options
    from tensorflow.python.framework import ops

    if not isinstance(dataset._variant_tensor, ops.EagerTensor):
        raise _NotKept("it was built inside a tf.function")
    held = held_bytes(dataset)
    if held > READABLE_BYTES:
        raise _NotKept(f"it holds {held >> 20} MB in memory, too much to write down")
    try:
        with ops.init_scope():
            serialized = dataset._as_serialized_graph(
                external_state_policy=options.ExternalStatePolicy.IGNORE
            ).numpy()
    except Exception as problem:
        raise _NotKept(f"TensorFlow cannot write it down ({type(problem).__name__})") from None
    return graph_pb2.GraphDef.FromString(serialized)


def held_bytes(dataset: Any) -> int:
    """How much a pipeline holds in memory: its source tensors, and what its functions have captured."""
    total, seen, waiting = 0, set(), [dataset]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        waiting += one._inputs()
        for name in ("_impl", "_dataset"):
            inner = one.__dict__.get(name)
            if hasattr(inner, "_variant_tensor"):
                waiting.append(inner)
        tensors = list(one.__dict__.get("_tensors") or [])
        for function in one._functions():
            tensors += getattr(function.function, "captured_inputs", [])
        total += sum(_tensor_bytes(tensor) for tensor in tensors)
    return total


def _tensor_bytes(tensor: Any) -> int:
    size = tensor.shape.num_elements() if hasattr(tensor, "shape") else None
    return (size or 0) * max(tensor.dtype.size, 1)
