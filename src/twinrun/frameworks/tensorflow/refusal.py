"""Ops that refuse to run because op determinism is on, recognised by their exception (TW406, or TW104 for one without a
seed): which op it was, of which layer, and the line that made it."""

from __future__ import annotations

import gc
import re
import sys
from itertools import takewhile
from traceback import extract_tb
from typing import Any

from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.frameworks.layers import where_made
from twinrun.knowledge.refused_ops import INSTEAD
from twinrun.twin.callers import is_users, user_line
from twinrun.twin.session import current

_MENTIONS_IT = re.compile(r"determinis[mt]", re.IGNORECASE)
_NEEDS_A_SEED = re.compile(r"random ops (must have|require) a seed", re.IGNORECASE)
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")
_EAGER_OP = re.compile(r"\[Op:(?!__)(\w+)\]")
_BY_XLA = re.compile(r"\bXLA\b")
_UNCOMPILED = "turn XLA off (jit_compile=False): without it the op may have a deterministic kernel"
_GRADIENT = "gradient_tape/"
_MODELS = ("functional.py", "sequential.py")  # models that call their layers by themselves
Place = tuple[str | None, str | None, str | None, int | None]  # op, layer, file, line


def explain(problem: BaseException) -> Finding | None:
    """The finding behind an exception, or None if op determinism did not raise it."""
    message = str(problem)
    if not _MENTIONS_IT.search(message) or not _is_tensorflows(problem):
        return None
    op, layer, file, line = _locate(problem, message)
    sentence = _sentence(message)
    evidence = [f"{type(problem).__name__}: {sentence}"]
    if op:
        evidence.append(f"op {op}" + (f" of layer {layer}" if layer else ""))
    if _NEEDS_A_SEED.search(message.strip().splitlines()[0]):
        code = "TW104"
        text = f"{op or 'a random op'} has no seed, and op determinism refuses to run it without one"
        fix = "give the op a seed, or use its tf.random form, which takes the global seed"
    else:
        code = "TW406"
        what = (op or "an op") + (f" in layer {layer}" if layer else "")
        text = f"{what} has no deterministic implementation here, and op determinism refuses to run it"
        ours = current().pins.request is not None
        otherwise = "go on without op determinism: --pin=allow=TW406" if ours else "leave op determinism off"
        fix = f"{_instead(op, sentence)}; or {otherwise}"
    return finding(code, text, file=file, line=line, confirmed=True, evidence=evidence, fix=fix)


def _instead(op: str | None, sentence: str) -> str:
    """XLA has kernels of its own, so an op that it refuses need not be refused elsewhere."""
    return _UNCOMPILED if _BY_XLA.search(sentence) else INSTEAD.get(op or "", "replace the op")


def _is_tensorflows(problem: BaseException) -> bool:
    frame = problem.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    raised_in = "" if frame is None else frame.tb_frame.f_globals.get("__name__", "")
    return type(problem).__module__.startswith("tensorflow") or str(raised_in).startswith("tensorflow")


def _sentence(message: str) -> str:
    """The line that mentions it, out of a long message."""
    sentence = next(line for line in message.splitlines() if _MENTIONS_IT.search(line))
    return re.sub(r"\{\{function_node [^}]*\}\}|\[Op:.*$|\[\[.*$", "", sentence).strip()


def _locate(problem: BaseException, message: str) -> Place:
    """Where the node of a graph was made, or where an eager op raised."""
    node, eager = _NODE.search(message), _EAGER_OP.search(message)
    made = _node_place(node[1]) if node else None
    if made is not None and made[2] is not None:
        return made
    op = eager[1] if eager else node[1].rpartition("/")[2] if node else None
    return op, None, *user_line(extract_tb(problem.__traceback__))


def _node_place(name: str) -> Place | None:
    """Where the node of that name was made, in a function that the program has traced. Slow: it searches all objects."""
    from tensorflow.python.framework.func_graph import FuncGraph

    for graph in [thing for thing in gc.get_objects() if isinstance(thing, FuncGraph)]:
        operation = _operation(graph, name)
        if operation is not None:
            written = _forward(graph, name) or operation
            layer = _layer_of(written.name)
            made = where_made(layer) if _is_called_by_model(written.traceback) else None
            line = (made.file, made.line) if made is not None else user_line(written.traceback)
            return operation.type, getattr(layer, "name", None), *line
    return None


def _is_called_by_model(trace: Any) -> bool:
    """Whether a model called the layer by itself, and no line of the user's that is nearer."""
    nearer = takewhile(lambda frame: not is_users(frame.filename), reversed(list(trace)))
    return any(frame.name == "call" and frame.filename.endswith(_MODELS) for frame in nearer)


def _operation(graph: Any, name: str) -> Any:
    try:
        return graph.get_operation_by_name(name)
    except (KeyError, ValueError):
        return None


def _forward(graph: Any, name: str) -> Any:
    """The op that a node is the gradient of, which is what the user wrote; None where it is no gradient."""
    if not name.startswith(_GRADIENT):
        return None
    gradient = graph.get_operation_by_name(name)
    forward = [each for each in graph.get_operations() if not each.name.startswith(_GRADIENT)]
    scope = name.removeprefix(_GRADIENT)
    while scope := scope.rpartition("/")[0]:
        if (found := _operation(graph, scope)) is not None:
            return found
        inside = [each for each in forward if each.name.startswith(f"{scope}/")]
        if inside:
            return _differentiated(gradient, inside) or inside[-1]
    return _differentiated(gradient, forward)


def _differentiated(gradient: Any, candidates: list[Any]) -> Any:
    """The op that this is the gradient of: of several of that kind, the one that shares most inputs with it."""
    given = {tensor.name for tensor in gradient.inputs}
    alike = [each for each in candidates if gradient.type.startswith(each.type)]
    return max(
        alike, key=lambda each: len(given.intersection(tensor.name for tensor in each.inputs)), default=None
    )


def _layer_of(node: str) -> Any:
    """The living Keras layer that has the name of the innermost scope of the node that is one's. Scopes may have a
    number appended."""
    kinds = tuple(sys.modules[name].layers.Layer for name in ("keras", "tf_keras") if name in sys.modules)
    alive = {getattr(thing, "name", None): thing for thing in gc.get_objects() if isinstance(thing, kinds)}
    for scope in reversed(node.removeprefix(_GRADIENT).split("/")[:-1]):
        for candidate in (scope, re.sub(r"_\d+$", "", scope)):
            if candidate in alive:
                return alive[candidate]
    return None
