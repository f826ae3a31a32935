"""A function's graph written again, op by op, with its draws keyed.

The user's Python is not run again: what was traced is kept. Calls, branches and loops are followed only where
something inside must change; datasets built inside a function go to the rewriter.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import ops

from twinrun.pipelines import random_ops, stage_functions
from twinrun.pipelines.build_sites import Site
from twinrun.pipelines.draw_keys import Place, Scope
from twinrun.pipelines.element_streams import for_each_element, redirect_global_streams
from twinrun.pipelines.op_arguments import with_shapes_of
from twinrun.pipelines.python_draws import HostDraw, undecorated
from twinrun.pipelines.rewrite_outcome import CannotRewrite
from twinrun.pipelines.stateless_ops import replacement

if TYPE_CHECKING:
    from twinrun.pipelines.rewriter import Rewriter


def replay(graph: Any, inputs: list[Any], scope: Scope | None, rewriter: Rewriter, place: Place) -> list[Any]:
    """The outputs of a function's graph for `inputs` (arguments, then captures), with keyed draws.

    Without a scope there is nothing to draw: the function is copied.
    """
    return _Replay(graph, inputs, scope, rewriter, place).outputs()


class _Replay:
    def __init__(self, graph: Any, inputs: list[Any], scope: Any, rewriter: Rewriter, place: Place) -> None:
        self.graph, self.scope, self.rewriter, self.place = graph, scope, rewriter, place
        self.made = {tensor.name: new for tensor, new in zip(graph.inputs, inputs, strict=True)}
        self._ops: dict[str, Any] = {}
        self._draws = 0
        writes = (op for op in graph.get_operations() if op.type in random_ops.WRITES)
        self._seed_states = {op.inputs[0].name for op in writes if stage_functions.feeds_seeds(op)}

    def outputs(self) -> list[Any]:
        for op in self.graph.get_operations():
            if not stage_functions.is_dataset_op(op) and op.type != "Placeholder":
                self._write(op)
        return [self.tensor(tensor) for tensor in self.graph.outputs]

    def tensor(self, tensor: Any) -> Any:
        """The new tensor in the place of an old one. Datasets are made when they are asked for."""
        if tensor.name not in self.made and stage_functions.is_dataset_op(tensor.op):
            self.made[tensor.name] = self.rewriter.nested(tensor.op, self.scope, self.tensor, self.place)
        return self.made[tensor.name]

    def _write(self, op: Any) -> None:
        controls = [self._ops[one.name] for one in op.control_inputs if self._ops.get(one.name) is not None]
        with tf.control_dependencies(controls):
            outputs = self._outputs_of(op)
        if outputs is None:  # left out: it only advanced a state that is no longer read
            return
        for old, new in zip(op.outputs, outputs, strict=True):
            self.made[old.name] = new

    def _outputs_of(self, op: Any) -> list[Any] | None:
        if op.type in random_ops.DRAWS:
            return self._draw(op)
        if op.type in random_ops.READS and op.inputs[0].name in self._seed_states:
            count = op.outputs[0].shape.num_elements() or 2
            return [self.scope.number(*self._next(), count=count, dtype=op.outputs[0].dtype.name)]
        if op.type in random_ops.WRITES and op.inputs[0].name in self._seed_states:
            return None
        if op.type in random_ops.HOST and stage_functions.draws_in_python(op):
            return self._python(op)
        if stage_functions.called_graphs(op) and self.rewriter.needs.functions_of(op):
            return self._call(op)
        new = copy_op(op, [self.tensor(one) for one in op.inputs])
        self._ops[op.name] = new
        return list(new.outputs)

    def _next(self) -> Place:
        self._draws += 1
        return (*self.place, self._draws)

    def _draw(self, op: Any) -> list[Any] | None:
        place = self._next()
        if op.type == "RngSkip":
            return None
        inputs = [self.made.get(one.name) for one in op.inputs]
        found = replacement(op, inputs, self.scope, place)
        if found is None:
            message = f"{op.type} has no stateless counterpart to replace it with"
            hint = "draw with tf.random.stateless_*, or take this draw out of the pipeline"
            raise self.rewriter.refusal(op, message, hint)
        return found

    def _python(self, op: Any) -> list[Any]:
        call = stage_functions.host_call(op)
        refused = [draw for draw in call.draws if draw.kind in ("shared", "entropy") or _is_unreachable(draw)]
        if refused:
            raise CannotRewrite(
                f"{call.name}() draws from {refused[0].what}, which cannot be replaced from outside",
                hint="inside the function write: rng = twinrun.element_rng(); and draw from that",
                where=str(Site(refused[0].file, refused[0].line)),
            )
        redirect_global_streams()
        registered = stage_functions.python_function(op)
        inner = undecorated(registered)
        function = registered._func if type(registered).__name__ == "EagerFunc" else registered
        keyed = for_each_element(function, counting=stage_functions.generator_behind(inner) is not None)
        self.rewriter.keep_alive += [registered, keyed]
        key = self.scope.number(*self._next())
        inputs = [key, *(self.tensor(one) for one in op.inputs)]
        types = [one.dtype for one in op.outputs]
        if op.type == "EagerPyFunc":
            outputs = tf.py_function(keyed, inputs, types)
        else:
            outputs = tf.numpy_function(keyed, inputs, types, stateful=op.type != "PyFuncStateless")
        return with_shapes_of(op, _as_list(outputs))

    def _call(self, op: Any) -> list[Any]:
        inputs = [self.tensor(one) for one in op.inputs]
        place = self._next()
        kind = op.type.removeprefix("Stateless").removeprefix("Stateful")
        if kind == "PartitionedCall":
            return self._run(self.rewriter.function(op, "f"), inputs, place)
        if kind == "If":
            then, otherwise = (
                partial(
                    self._run, self.rewriter.function(op, f"{name}_branch"), inputs[1:], (*place, name[0])
                )
                for name in ("then", "else")
            )
            return _as_list(tf.cond(tf.cast(inputs[0], tf.bool), then, otherwise))
        if kind == "Case":
            graphs = (stage_functions.function_graph(op.graph, one.name) for one in op.get_attr("branches"))
            branches = [
                partial(self._run, graph, inputs[1:], (*place, number)) for number, graph in enumerate(graphs)
            ]
            return _as_list(tf.switch_case(inputs[0], branches))
        if kind == "While":
            return self._loop(op, inputs, place)
        message = f"a draw inside {op.type} cannot be keyed by element"
        raise self.rewriter.refusal(op, message, "move the draw out of it")

    def _run(self, graph: Any, inputs: list[Any], place: Place, scope: Scope | None = None) -> list[Any]:
        return replay(graph, inputs, scope or self.scope, self.rewriter, place)

    def _loop(self, op: Any, inputs: list[Any], place: Place) -> list[Any]:
        """A loop with a counter of its own, so that each iteration draws different numbers."""
        test, body = self.rewriter.function(op, "cond"), self.rewriter.function(op, "body")
        carried = [number for number in range(len(inputs)) if not _is_passed_on(body, number)]

        def all_of(variables: Any) -> list[Any]:
            values = list(inputs)
            for number, variable in zip(carried, variables, strict=True):
                values[number] = variable
            return values

        def goes_on(iteration: Any, *variables: Any) -> Any:
            scope = self.scope.repetition(iteration, None, *place, "test")
            return self._run(test, all_of(variables), (*place, "test"), scope)[0]

        def once(iteration: Any, *variables: Any) -> list[Any]:
            scope = self.scope.repetition(iteration, None, *place)
            outputs = self._run(body, all_of(variables), place, scope)
            return [iteration + 1, *(outputs[number] for number in carried)]

        ended = tf.while_loop(
            goes_on,
            once,
            [tf.constant(0, tf.int64), *(inputs[number] for number in carried)],
            shape_invariants=[tf.TensorShape([]), *(body.inputs[number].shape for number in carried)],
            parallel_iterations=op.get_attr("parallel_iterations"),
        )
        return all_of(ended[1:])


def copy_op(op: Any, inputs: list[Any], **changed: Any) -> Any:
    """The same op in the graph being built, on other inputs. `changed` are attributes to set."""
    graph = ops.get_default_graph()
    attributes = {name: value for name, value in op.node_def.attr.items() if not name.startswith("_")}
    attributes |= {name: attr_value_pb2.AttrValue(**value) for name, value in changed.items()}
    for value in attributes.values():
        for name in [value.func.name, *(function.name for function in value.list.func)]:
            if name and graph._get_function(name) is None:
                found = stage_functions.find_function(op.graph, name)
                if found is None:
                    raise KeyError(name)
                graph._add_function_recursive(found[1])
    name, types = op.name.rpartition("/")[2], [output.dtype for output in op.outputs]
    new = graph._create_op_internal(op.type, inputs, types, name=name, attrs=attributes, op_def=op.op_def)
    with_shapes_of(op, new.outputs)
    return new


def _is_passed_on(body: Any, number: int) -> bool:
    """Whether a loop variable leaves the body as it entered: a capture, not a variable."""
    output = body.outputs[number]
    while output.op.type == "Identity":
        output = output.op.inputs[0]
    return output is body.inputs[number]


def _is_unreachable(draw: HostDraw) -> bool:
    """A function that was taken out of its module (`from numpy.random import rand`) cannot be redirected."""
    return draw.kind == "stream" and ("." not in draw.what or draw.stream == "tensorflow")


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
