"""A dataset's whole pipeline as one graph of raw ops, without copying the data it holds.

TensorFlow can serialize a dataset as a graph, but that copies every tensor in it: ten seconds for 600 MB of
images, and nothing above 2 GB. So a dataset object that keeps its arguments is written again as the same op, in a
graph of our own, over the same captured tensors; only what an object does not keep is read from TensorFlow's own
graph. The tests compare the two.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from twinrun.errors import TwinrunError
from twinrun.pipelines.dataset_recipes import DEFAULTED, OPS, SOURCES, rule_for
from twinrun.pipelines.serialized_graph import NotSerialized, reachable, root_of, serialized_graph

_DEFAULT = object()  # an argument that is left to TensorFlow


class NotADataset(TwinrunError):
    """Something else was passed where a tf.data dataset is needed."""


@dataclass(frozen=True)
class Lifted:
    """The graph, the tensor that is the dataset, and for ops the dataset objects they stand for."""

    graph: Any
    output: Any
    origins: dict[str, Any]
    unread: dict[str, str] = field(default_factory=dict)  # op name: why the stage could not be read


def lift(dataset: Any) -> Lifted:
    """The pipeline of a dataset as a graph of raw ops. The dataset is not changed, and no seed is taken."""
    from tensorflow.python.data.ops import dataset_ops

    if not isinstance(dataset, dataset_ops.DatasetV2):
        raise NotADataset(
            f"expected a tf.data dataset, not {type(dataset).__name__}",
            hint="pass the dataset itself, not its iterator",
        )
    lifter = _Lifter()
    with lifter.graph.as_default():
        output = lifter.dataset(dataset)
    return Lifted(lifter.graph, output, lifter.origins, lifter.unread)


def unwrapped(dataset: Any) -> Any:
    """Skips objects that add a structure or a version around another dataset and no stage of their own."""
    while True:
        for name in ("_impl", "_dataset", "_input_dataset"):
            inner = dataset.__dict__.get(name)
            if hasattr(inner, "_variant_tensor") and inner._variant_tensor is dataset._variant_tensor:
                break
        else:
            return dataset
        dataset = inner


# -- datasets that a function has captured: only their tensor is left; what it stands for is remembered here --

_by_tensor: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def remember(dataset: Any) -> None:
    """Let a dataset be recognised where a function has captured it."""
    _by_tensor[id(dataset._variant_tensor)] = dataset


def remember_graph(variant: Any, graph: Any) -> Lifted:
    """Let a dataset built by a function of ours be recognised, as long as the returned value is kept."""
    origins = {}
    for outer, inner in graph.captures:
        known = _by_tensor.get(id(outer))
        if known is not None and getattr(known, "_variant_tensor", None) is outer:
            origins[inner.op.name] = known
    lifted = Lifted(graph, graph.outputs[0], origins)
    _by_tensor[id(variant)] = lifted
    return lifted


def captured_dataset(variant: Any) -> Lifted | None:
    """The pipeline of a dataset whose tensor a function has captured, or None if it is not a dataset."""
    known = _by_tensor.get(id(variant))
    if isinstance(known, Lifted):
        return known
    if known is not None and known._variant_tensor is variant:
        return lift(known)
    lifter = _Lifter()
    with lifter.graph.as_default():
        output = lifter.as_serialized(_bare_dataset(variant), "")
    return None if output.op.type == "Placeholder" else Lifted(lifter.graph, output, {})


def _bare_dataset(variant: Any) -> Any:
    """A dataset of which nothing is known but its tensor."""
    from tensorflow.python.ops import gen_dataset_ops

    def serialized(external_state_policy: Any) -> Any:
        return gen_dataset_ops.dataset_to_graph_v2(variant, external_state_policy=external_state_policy.value)

    return SimpleNamespace(
        _variant_tensor=variant, _inputs=list, _functions=list, _as_serialized_graph=serialized
    )


# -- writing a dataset's ops -----------------------------------------------------------------------------------


class _Lifter:
    def __init__(self) -> None:
        from tensorflow.python.framework import func_graph

        self.graph = func_graph.FuncGraph("twinrun_pipeline")
        self.origins: dict[str, Any] = {}
        self.unread: dict[str, str] = {}
        self._done: dict[int, Any] = {}

    def dataset(self, dataset: Any) -> Any:
        dataset = unwrapped(dataset)
        if id(dataset) not in self._done:
            output = self._write(dataset)
            self.origins[output.op.name] = dataset
            self._done[id(dataset)] = output
        return self._done[id(dataset)]

    def _write(self, dataset: Any) -> Any:
        name = type(dataset).__name__
        if name in SOURCES:
            return self.graph.capture(dataset._variant_tensor)
        if name == "_RandomDataset":
            return self._same_op(dataset, "RandomDatasetV2" if dataset._rerandomize else "RandomDataset")
        if name in OPS:
            return self._same_op(dataset, OPS[name])
        return self.as_serialized(dataset, f"{name} is not known")

    def _same_op(self, dataset: Any, op_type: str) -> Any:
        import tensorflow as tf
        from tensorflow.python.framework import op_def_registry

        definition = op_def_registry.get(op_type)
        inferred = {arg.type_list_attr or arg.number_attr or arg.type_attr for arg in definition.input_arg}
        names = [arg.name for arg in definition.input_arg]
        names += [attr.name for attr in definition.attr if attr.name not in inferred]
        rules = {name: rule_for(type(dataset).__name__, name) for name in names}
        wrapped = [attr.name for attr in definition.attr if attr.type == "func"]
        functions = {name: getattr(dataset, rules[name]).function for name in wrapped}
        arguments, unread = dict(functions), None
        for name in names:
            if name in functions:
                continue
            try:
                value = self._argument(dataset, name, rules[name], functions)
            except NotSerialized as problem:
                value, unread = _DEFAULT, f"{name} is not known: {problem}"
            if value is not _DEFAULT:
                arguments[name] = value
        output = getattr(tf.raw_ops, op_type)(**arguments)
        if unread is not None:
            self.unread[output.op.name] = unread
        return output

    def _argument(self, dataset: Any, name: str, rule: str, functions: dict[str, Any]) -> Any:
        from tensorflow.python.data.util import nest

        if name == "input_dataset":
            kept = dataset.__dict__.get("_input_dataset")
            return self.dataset(dataset._inputs()[0] if kept is None else kept)
        if name in ("output_types", "output_shapes"):
            return getattr(dataset, "_flat" + name.removeprefix("output"))
        if name == "metadata":
            return dataset._metadata.SerializeToString() if hasattr(dataset, "_name") else b""
        if name.endswith(("other_arguments", "other_args")):
            prefix = name.removesuffix("_other_arguments").removesuffix("_other_args")
            return functions.get(prefix, next(iter(functions.values()))).captured_inputs
        if rule.startswith("d:"):
            found = getattr(dataset, rule[2:])
            if hasattr(found, "_variant_tensor"):
                return self.dataset(found)
            return [self.dataset(one) for one in (found if isinstance(found, list) else nest.flatten(found))]
        if rule.startswith("="):
            return _value(dataset, rule)
        if rule in dataset.__dict__:
            return getattr(dataset, rule)
        if name in DEFAULTED:
            return _DEFAULT
        return self._from_own_node(dataset, name)

    def _from_own_node(self, dataset: Any, name: str) -> Any:
        """One attribute as TensorFlow's own graph has it, for the few that no object keeps."""
        graph = serialized_graph(dataset)
        value = next(node for node in graph.node if node.name == root_of(graph)).attr[name]
        found = getattr(value, value.WhichOneof("value"))
        return found.decode() if isinstance(found, bytes) else found

    def as_serialized(self, dataset: Any, why: str) -> Any:
        """The subtree as TensorFlow serializes it, or the bare dataset when it cannot be serialized."""
        from tensorflow.core.framework import types_pb2
        from tensorflow.python.eager import context
        from tensorflow.python.framework import importer

        try:
            graph = serialized_graph(dataset)
        except NotSerialized as problem:
            output = self.graph.capture(dataset._variant_tensor)
            self.unread[output.op.name] = f"{why}; {problem}"
            return output
        root = root_of(graph)
        cut = self._known_input(dataset, graph)
        kept = reachable(graph, root, set(cut))
        for node in list(graph.node):
            if node.name not in kept:
                graph.node.remove(node)
            elif node.name in cut:  # a placeholder for what replaces it; its own inputs are gone
                node.op = "Placeholder"
                del node.input[:]
                node.attr.clear()
                node.attr["dtype"].type = types_pb2.DT_VARIANT
        for function in list(graph.library.function):
            # What was traced in this process is known to it, without what TensorFlow adds when it serializes.
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
        """Where an unknown stage has a single input, that input is still read our way.

        TensorFlow serializes it first, under the same name as when it is serialized alone.
        """
        inputs = dataset._inputs()
        if len(inputs) != 1:
            return {}
        inner = unwrapped(inputs[0])
        name = root_of(serialized_graph(inner))
        if not any(node.name == name for node in graph.node) or type(inner).__name__ in SOURCES:
            return {}
        return {name: self.dataset(inner)}


def _value(dataset: Any, rule: str) -> Any:
    """What a rule such as `=options` stands for."""
    import tensorflow as tf
    from tensorflow.python.data.util import nest, structure

    if rule == "=padded_shapes":
        return [tf.convert_to_tensor(shape, tf.int64) for shape in nest.flatten(dataset._padded_shapes)]
    if rule == "=state":
        return structure.to_tensor_list(dataset._state_structure, dataset._initial_state)
    return {
        "=seed_generator": tf.raw_ops.DummySeedGenerator,
        "=memory_cache": tf.raw_ops.DummyMemoryCache,
        "=true": lambda: True,
        "=options": lambda: dataset._options_attr._to_proto().SerializeToString(),
        "=padding_values": lambda: nest.flatten(dataset._padding_values),
    }[rule]()
