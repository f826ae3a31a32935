"""A function's graph written out again, op by op, with its draws keyed.

The user's Python is not run again: what was traced is what is kept. Calls, branches and loops are followed
only where something inside must change; datasets built inside a function go to the rewriter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from twinrun.errors import TwinrunError
from twinrun.pipelines import random_ops
from twinrun.pipelines.build_sites import Site
from twinrun.pipelines.draw_keys import Scope
from twinrun.pipelines.element_streams import for_each_element, redirect_global_streams
from twinrun.pipelines.needs import draws_in_python, is_draw
from twinrun.pipelines.python_draws import HostDraw, undecorated
from twinrun.pipelines.stage_functions import (
    called_graphs,
    feeds_seeds,
    function_graph,
    generator_behind,
    host_call,
    is_dataset_op,
    python_function,
)
from twinrun.pipelines.stateless_ops import substitute

if TYPE_CHECKING:
    from twinrun.pipelines.rewriter import Rewriter

_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_BRANCHES = ("If", "StatelessIf")
_LOOPS = ("While", "StatelessWhile")
_CASES = ("Case", "StatelessCase")


class CannotRewrite(TwinrunError):
    """A stage that cannot be made repeatable, with the reason."""


def replay(
    graph: Any, inputs: list[Any], scope: Scope | None, rewriter: Rewriter, place: tuple[Any, ...]
) -> list[Any]:
    """What a function's graph gives for `inputs` (arguments, then captures), with keyed draws.

    Without a scope there is nothing to draw: the function is copied.
    """
    return _Replay(graph, inputs, scope, rewriter, place).outputs()


class _Replay:
    def __init__(
        self, graph: Any, inputs: list[Any], scope: Any, rewriter: Rewriter, place: tuple[Any, ...]
    ) -> None:
        self.graph, self.scope, self.rewriter, self.place = graph, scope, rewriter, place
        self.made: dict[str, Any] = {
            tensor.name: new for tensor, new in zip(graph.inputs, inputs, strict=True)
        }
        self._ops: dict[str, Any] = {}
        self._draws = 0
        self._seed_states = {
            op.inputs[0].name
            for op in graph.get_operations()
            if op.type in random_ops.WRITES and feeds_seeds(op)
        }

    def outputs(self) -> list[Any]:
        for op in self.graph.get_operations():
            if not is_dataset_op(op) and op.type != "Placeholder":
                self._write(op)
        return [self.tensor(tensor) for tensor in self.graph.outputs]

    def tensor(self, tensor: Any) -> Any:
        """The new tensor in the place of an old one. Datasets are made when they are asked for."""
        if tensor.name not in self.made and is_dataset_op(tensor.op):
            self.made[tensor.name] = self.rewriter.nested(tensor.op, self.scope, self.tensor, self.place)
        return self.made[tensor.name]

    def _write(self, op: Any) -> None:
        import tensorflow as tf

        controls = [self._ops[one.name] for one in op.control_inputs if self._ops.get(one.name) is not None]
        with tf.control_dependencies(controls):
            outputs = self._outputs_of(op)
        if outputs is None:  # left out: it only moved a state that nobody reads any more
            return
        for old, new in zip(op.outputs, outputs, strict=True):
            self.made[old.name] = new

    def _outputs_of(self, op: Any) -> list[Any] | None:
        if is_draw(op):
            return self._draw(op)
        if op.type in random_ops.READS and op.inputs[0].name in self._seed_states:
            count = op.outputs[0].shape.num_elements() or 2
            return [self.scope.number(*self._next(), count=count, dtype=op.outputs[0].dtype.name)]
        if op.type in random_ops.WRITES and op.inputs[0].name in self._seed_states:
            return None
        if op.type in random_ops.HOST and draws_in_python(op):
            return self._python(op)
        if called_graphs(op) and self.rewriter.needs.functions_of(op):
            return self._call(op)
        return self._copy(op)

    def _next(self) -> tuple[Any, ...]:
        self._draws += 1
        return (*self.place, self._draws)

    def _draw(self, op: Any) -> list[Any] | None:
        place = self._next()
        if op.type == "RngSkip":
            return None
        inputs = [self.made.get(one.name) for one in op.inputs]
        found = substitute(op, inputs, self.scope, place)
        if found is None:
            raise CannotRewrite(
                f"{op.type} has no stateless counterpart to put in its place",
                hint="draw with tf.random.stateless_*, or take this draw out of the pipeline",
                where=self.rewriter.where(op),
            )
        return found

    def _python(self, op: Any) -> list[Any]:
        import tensorflow as tf

        call = host_call(op)
        refused = [draw for draw in call.draws if draw.kind in ("shared", "entropy") or _is_unreachable(draw)]
        if refused:
            raise CannotRewrite(
                f"{call.name}() draws from {refused[0].what}, which cannot be replaced from outside",
                hint="inside the function write: rng = twinrun.element_rng(); and draw from that",
                where=str(Site(refused[0].file, refused[0].line)),
            )
        redirect_global_streams()
        registered = python_function(op)
        inner = undecorated(registered)
        function = registered._func if type(registered).__name__ == "EagerFunc" else registered
        keyed = for_each_element(function, counting=generator_behind(inner) is not None)
        self.rewriter.keep_alive += [registered, keyed]
        key = self.scope.number(*self._next())
        inputs = [key, *(self.tensor(one) for one in op.inputs)]
        types = [one.dtype for one in op.outputs]
        if op.type == "EagerPyFunc":
            outputs = tf.py_function(keyed, inputs, types)
        else:
            outputs = tf.numpy_function(keyed, inputs, types, stateful=op.type != "PyFuncStateless")
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        for new, old in zip(outputs, op.outputs, strict=True):
            new.set_shape(old.shape)
        return outputs

    def _call(self, op: Any) -> list[Any]:
        import tensorflow as tf

        inputs = [self.tensor(one) for one in op.inputs]
        place = self._next()
        if op.type in _CALLS:
            return self._inner(function_graph(op.graph, op.get_attr("f").name), inputs, self.scope, place)
        if op.type in _BRANCHES:
            names = [op.get_attr(branch).name for branch in ("then_branch", "else_branch")]
            then, otherwise = (
                self._branch(op, name, inputs[1:], (*place, name_))
                for name_, name in zip("te", names, strict=True)
            )
            condition = inputs[0] if inputs[0].dtype == tf.bool else tf.cast(inputs[0], tf.bool)
            return _as_list(tf.cond(condition, then, otherwise))
        if op.type in _CASES:
            names = [function.name for function in op.get_attr("branches")]
            branches = [
                self._branch(op, name, inputs[1:], (*place, number)) for number, name in enumerate(names)
            ]
            return _as_list(tf.switch_case(inputs[0], branches))
        if op.type in _LOOPS:
            return self._loop(op, inputs, place)
        raise CannotRewrite(
            f"a draw inside {op.type} cannot be keyed by element",
            hint="move the draw out of it",
            where=self.rewriter.where(op),
        )

    def _inner(self, graph: Any, inputs: list[Any], scope: Scope, place: tuple[Any, ...]) -> list[Any]:
        return replay(graph, inputs, scope, self.rewriter, place)

    def _branch(
        self, op: Any, name: str, inputs: list[Any], place: tuple[Any, ...]
    ) -> Callable[[], list[Any]]:
        graph = function_graph(op.graph, name)
        return lambda: self._inner(graph, inputs, self.scope, place)

    def _loop(self, op: Any, inputs: list[Any], place: tuple[Any, ...]) -> list[Any]:
        """A loop with a counter of its own, so that each turn draws something else."""
        import tensorflow as tf

        test = function_graph(op.graph, op.get_attr("cond").name)
        body = function_graph(op.graph, op.get_attr("body").name)
        carried = [number for number in range(len(inputs)) if not _is_passed_on(body, number)]

        def all_of(variables: list[Any]) -> list[Any]:
            values = list(inputs)
            for number, variable in zip(carried, variables, strict=True):
                values[number] = variable
            return values

        def again(turn: Any, *variables: Any) -> Any:
            scope = self.scope.repetition(turn, None, *place, "test")
            return self._inner(test, all_of(list(variables)), scope, (*place, "test"))[0]

        def once(turn: Any, *variables: Any) -> list[Any]:
            scope = self.scope.repetition(turn, None, *place)
            outputs = self._inner(body, all_of(list(variables)), scope, place)
            return [turn + 1, *(outputs[number] for number in carried)]

        start = [tf.constant(0, tf.int64), *(inputs[number] for number in carried)]
        shapes = [tf.TensorShape([]), *(body.inputs[number].shape for number in carried)]
        ended = tf.while_loop(
            again,
            once,
            start,
            shape_invariants=shapes,
            parallel_iterations=op.get_attr("parallel_iterations"),
        )
        return all_of(list(ended[1:]))

    def _copy(self, op: Any) -> list[Any]:
        new = copy_op(op, [self.tensor(one) for one in op.inputs])
        self._ops[op.name] = new
        return list(new.outputs)


def copy_op(op: Any, inputs: list[Any], **changed: Any) -> Any:
    """The same op in the graph being built, on other inputs. `changed` are attributes to set."""
    from tensorflow.core.framework import attr_value_pb2
    from tensorflow.python.framework import ops

    graph = ops.get_default_graph()
    attributes = {name: value for name, value in op.node_def.attr.items() if not name.startswith("_")}
    for name, text in changed.items():
        attributes[name] = attr_value_pb2.AttrValue(**text)
    for value in attributes.values():
        for name in [value.func.name, *(function.name for function in value.list.func)]:
            if name and graph._get_function(name) is None:
                graph._add_function_recursive(_function(op.graph, name))
    name = op.name.rpartition("/")[2]
    new = graph._create_op_internal(
        op.type,
        inputs,
        [output.dtype for output in op.outputs],
        name=name,
        attrs=attributes,
        op_def=op.op_def,
    )
    for made, old in zip(new.outputs, op.outputs, strict=True):
        made.set_shape(old.shape)
    return new


def _function(graph: Any, name: str) -> Any:
    while graph is not None:
        found = graph._get_function(name)
        if found is not None:
            return found
        graph = getattr(graph, "outer_graph", None)
    raise KeyError(name)


def _is_passed_on(body: Any, number: int) -> bool:
    """Whether a loop variable comes out of the body as it went in: a capture, not a variable."""
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
