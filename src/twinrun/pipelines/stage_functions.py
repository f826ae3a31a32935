"""What a function of a pipeline does besides computing: what it draws from, calls in Python, and writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from twinrun.pipelines import random_ops
from twinrun.pipelines.build_sites import Site, is_users, op_site
from twinrun.pipelines.graph_walk import walk
from twinrun.pipelines.python_draws import HostDraw, callable_site, cell_value, host_draws, undecorated


@dataclass(frozen=True)
class Draw:
    """A random op in a function.

    `source`: `op` (a state of its own), `generator` (a tf.random.Generator), `seed state` (a variable that
    seeds are taken from, as Keras layers do) or `entropy`.
    """

    op: str
    source: str
    seeded: bool | None
    site: Site | None


@dataclass(frozen=True)
class HostCall:
    """A Python function called from a pipeline, and what its code draws from."""

    name: str
    site: Site | None
    draws: tuple[HostDraw, ...]
    found: bool = True  # False: the Python function is gone, or was never Python


@dataclass(frozen=True)
class FunctionFacts:
    """Everything of interest in one function, the functions it calls included."""

    draws: tuple[Draw, ...] = ()
    host: tuple[HostCall, ...] = ()
    writes: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()
    """Writes of variables that the function reads as well: what a call reads depends on earlier calls."""
    unknown: tuple[str, ...] = ()
    stateless_draws: bool = False

    @property
    def random(self) -> bool:
        return bool(self.draws) or any(call.draws for call in self.host)


def facts_of(graph: Any) -> FunctionFacts:
    """The facts of a function's graph, branches, loops and calls included, datasets built in it excluded."""
    draws: list[Draw] = []
    host: list[HostCall] = []
    # by op type, in order of appearance
    writes: dict[str, None] = {}
    updates: dict[str, None] = {}
    unknown: dict[str, None] = {}
    stateless = False
    for op in ops_within(graph):
        if op.type in random_ops.DRAWS:
            source = random_ops.DRAWS[op.type]
            draws.append(Draw(op.type, source, False if source == "entropy" else _seeded(op), op_site(op)))
        elif op.type in random_ops.HOST:
            host.append(host_call(op))
        elif op.type in random_ops.WRITES and feeds_seeds(op):
            draws.append(Draw(op.type, "seed state", None, op_site(op)))
        elif op.type in random_ops.WRITES:
            (updates if _reads_of(op) else writes)[op.type] = None
        elif random_ops.is_stateless_draw(op.type):
            stateless = True
        elif op._is_stateful and not random_ops.is_harmless(op.type) and not is_dataset_op(op):
            unknown[op.type] = None
    return FunctionFacts(tuple(draws), tuple(host), tuple(writes), tuple(updates), tuple(unknown), stateless)


def is_dataset_op(op: Any) -> bool:
    """Whether an op makes a dataset: a stage of a pipeline built inside a function."""
    name = op.type.rstrip("0123456789").removesuffix("V")
    return name.endswith("Dataset") and len(op.outputs) == 1 and op.outputs[0].dtype.name == "variant"


def ops_within(graph: Any) -> Iterator[Any]:
    """Every op of a function and of the functions it calls. The functions of dataset ops are not calls."""
    for op in graph.get_operations():
        yield op
        if not is_dataset_op(op):
            for inner in called_graphs(op):
                yield from ops_within(inner)


def called_graphs(op: Any) -> list[Any]:
    """The graphs of the functions that an op names in its attributes."""
    names = []
    for value in op.node_def.attr.values():
        if value.HasField("func"):
            names.append(value.func.name)
        names += [function.name for function in value.list.func]
    return [function_graph(op.graph, name) for name in names]


def find_function(graph: Any, name: str) -> tuple[Any, Any] | None:
    """(graph, function): the function of this name in a graph or in the nearest graph around it."""
    while graph is not None:
        function = graph._get_function(name)
        if function is not None:
            return graph, function
        graph = getattr(graph, "outer_graph", None)
    return None


def function_graph(graph: Any, name: str) -> Any:
    """A function's graph, by the name under which an op of `graph` refers to it."""
    from tensorflow.python.eager import context
    from tensorflow.python.framework import function_def_to_graph, ops

    found = find_function(graph, name)
    if found is None:
        with (
            ops.init_scope()
        ):  # the process knows it; not to be looked up in a graph that is being traced now
            return function_def_to_graph.function_def_to_graph(context.get_function_def(name))
    owner, function = found
    inner = getattr(function, "graph", None)
    if inner is not None:
        return inner
    definition = getattr(function, "cached_definition", None) or function.definition
    with owner.as_default():  # functions that it calls are looked up where it is defined
        return function_def_to_graph.function_def_to_graph(definition)


def host_call(op: Any) -> HostCall:
    """The Python function behind a py_function or numpy_function."""
    site = op_site(op)
    function = python_function(op)
    if function is None:
        return HostCall("a Python function", site, (), found=False)
    inner = undecorated(function)
    if hasattr(inner, "__twinrun_element__"):  # ours: a function that draws by element
        return HostCall(inner.__name__, site, (HostDraw("element", "its element's stream", __file__, 0),))
    generator = generator_behind(inner)
    inner = inner if generator is None else undecorated(generator)
    draws = tuple(_in_users_file(draw, site) for draw in host_draws(inner))
    name = getattr(inner, "__name__", type(inner).__name__)
    return HostCall(name, callable_site(inner) or site, draws)


def draws_in_python(op: Any) -> bool:
    """Whether an op calls Python that draws, and not by element."""
    keyed = hasattr(undecorated(python_function(op)), "__twinrun_element__")
    return not keyed and bool(host_call(op).draws)


def _in_users_file(draw: HostDraw, site: Site | None) -> HostDraw:
    """A draw read from autograph's copy of a function is reported at the line that called it."""
    if site is None or is_users(draw.file):
        return draw
    return replace(draw, file=site.file, line=site.line)


def python_function(op: Any) -> Any:
    """The Python callable registered under an op's token, or None when it is gone."""
    from tensorflow.python.ops import script_ops

    token = op.get_attr("token")
    return script_ops._py_funcs.get(token.decode() if isinstance(token, bytes) else token)


def generator_behind(function: Any) -> Any:
    """The user's generator function, when `function` is the wrapper that from_generator made for it."""
    cells = (cell_value(cell) for cell in getattr(function, "__closure__", None) or ())
    for value in (getattr(function, "__self__", None), *cells):
        if type(value).__name__ == "_GeneratorState":
            return value._generator
    return None


def feeds_seeds(write: Any) -> bool:
    """Whether a variable that is written here is also read as the seed of a stateless draw, as Keras does."""

    def after(op: Any) -> list[Any]:
        if op is write:
            return _reads_of(op)
        return [consumer for output in op.outputs for consumer in output.consumers()]

    def draws(op: Any) -> bool:
        inner = () if is_dataset_op(op) else (one for graph in called_graphs(op) for one in ops_within(graph))
        return any(random_ops.is_stateless_draw(one.type) for one in (op, *inner))

    return any(draws(op) for op in walk(write, after, key=lambda op: op.name))


def _reads_of(write: Any) -> list[Any]:
    """The ops of the same graph that read what this one writes."""
    ops = (op for op in write.graph.get_operations() if op.type in random_ops.READS)
    return [op for op in ops if op.inputs[0] is write.inputs[0]]


def _seeded(op: Any) -> bool | None:
    try:
        return (op.get_attr("seed"), op.get_attr("seed2")) != (0, 0)
    except ValueError:
        return None
