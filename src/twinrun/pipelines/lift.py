"""A dataset's whole pipeline as one graph of raw ops, without copying what it holds.

TensorFlow can write a dataset out as a graph, but that copies every tensor in it: ten seconds for 600 MB of
images, and nothing above 2 GB. So a dataset object that keeps what it was made of is written down again as
the same op, in a graph of our own, over the same captured tensors; only what an object does not keep is read
from TensorFlow's own graph. The tests hold both ways against each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from twinrun.errors import TwinrunError
from twinrun.pipelines.recipes import DUMMY_SEEDS, HARMLESS, RECIPES, SOURCES
from twinrun.pipelines.serialized_graph import NotWritten, reachable, root_of, tensorflows_graph


class NotADataset(TwinrunError):
    """Something else was handed over where a tf.data dataset is needed."""


@dataclass(frozen=True)
class Lifted:
    """The graph, the tensor that is the dataset, and for ops the dataset objects they stand for."""

    graph: Any
    output: Any
    origins: dict[str, Any]
    unread: dict[str, str] = field(default_factory=dict)  # op name: why the stage could not be read


def source_op(dataset: Any) -> str | None:
    """The op of a source dataset that was left as it is."""
    return SOURCES.get(type(dataset).__name__)


def lift(dataset: Any) -> Lifted:
    """The pipeline of a dataset as a graph of raw ops. The dataset is not changed, and no seed is taken."""
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


def lift_written(dataset: Any) -> Lifted | None:
    """The pipeline of a dataset as TensorFlow writes it down, or None when it does not."""
    from tensorflow.python.framework import func_graph

    graph = func_graph.FuncGraph("twinrun_pipeline")
    lifter = _Lifter(graph)
    with graph.as_default():
        output = lifter.as_written(dataset, "")
    return None if output.op.type == "Placeholder" else Lifted(graph, output, {})


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
        if name in SOURCES:
            output = self.graph.capture(dataset._variant_tensor)
        elif name == "_RandomDataset":
            output = self._random(dataset)
        elif name in RECIPES:
            output = self._same_op(dataset, *RECIPES[name])
        else:
            output = self.as_written(dataset, f"{name} is not known")
        self.origins[output.op.name] = dataset
        return output

    def _random(self, dataset: Any) -> Any:
        if dataset._rerandomize:
            recipe = {"rerandomize_each_iteration": "_rerandomize", **DUMMY_SEEDS}
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
        unread = None
        for name in names:
            if name not in arguments:
                try:
                    value = self._argument(dataset, name, recipe.get(name, "_" + name), functions)
                except NotWritten as problem:
                    value, unread = _DEFAULT, f"{name} is not known: {problem}"
                if value is not _DEFAULT:
                    arguments[name] = value
        output = getattr(tf.raw_ops, op_type)(**arguments)
        if unread is not None:
            self.unread[output.op.name] = unread
        return output

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
        if name in HARMLESS:
            return _DEFAULT
        return self._from_own_node(dataset, name)

    def _from_own_node(self, dataset: Any, name: str) -> Any:
        """One attribute as TensorFlow's own graph has it, for the few that no object keeps."""
        graph = tensorflows_graph(dataset)
        value = next(node for node in graph.node if node.name == root_of(graph)).attr[name]
        kind = value.WhichOneof("value")
        found = getattr(value, kind)
        return found.decode() if isinstance(found, bytes) else found

    def as_written(self, dataset: Any, why: str) -> Any:
        """The subtree as TensorFlow writes it down, or the bare dataset when it cannot be written down."""
        from tensorflow.core.framework import types_pb2
        from tensorflow.python.eager import context
        from tensorflow.python.framework import importer

        try:
            graph = tensorflows_graph(dataset)
        except NotWritten as problem:
            output = self.graph.capture(dataset._variant_tensor)
            self.unread[output.op.name] = f"{why}; {problem}"
            return output
        root = root_of(graph)
        cut = self._known_input(dataset, graph)
        kept = reachable(graph, root, set(cut))
        for node in list(graph.node):
            if node.name not in kept:
                graph.node.remove(node)
            elif node.name in cut:  # stands for what it is replaced by; its own inputs are gone
                node.op = "Placeholder"
                del node.input[:]
                node.attr.clear()
                node.attr["dtype"].type = types_pb2.DT_VARIANT
        for function in list(graph.library.function):
            # What was traced in this process is known to it, without what TensorFlow adds when it writes a
            # graph.
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
        """Where an unknown stage has one input, that is still read our way.

        TensorFlow writes it first, under the same name as when it is written alone.
        """
        inputs = dataset._inputs()
        if len(inputs) != 1:
            return {}
        inner = unwrapped(inputs[0])
        name = root_of(tensorflows_graph(inner))
        if not any(node.name == name for node in graph.node) or type(inner).__name__ in SOURCES:
            return {}
        return {name: self.dataset(inner)}


class _Default:
    pass


_DEFAULT = _Default()
