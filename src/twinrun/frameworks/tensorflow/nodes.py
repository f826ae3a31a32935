"""From the name of a graph's node back to the program: its op, the layer it belongs to, and the line that made it."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tensorflow.python.framework.func_graph import FuncGraph

from twinrun.twin.callers import is_users

_GRADIENT = "gradient_tape/"


@dataclass(frozen=True)
class Node:
    op: str
    layer: str | None
    file: str | None
    line: int | None


def find_node(name: str) -> Node | None:
    """The node of that name in a function that the program has traced. Slow: it searches all objects."""
    for graph in [thing for thing in gc.get_objects() if isinstance(thing, FuncGraph)]:
        try:
            operation = graph.get_operation_by_name(name)
        except (KeyError, ValueError):
            continue
        made = _forward(graph, name) or operation
        file, line = _user_line(made.traceback)
        return Node(operation.type, layer_of(made.name), file, line)
    return None


def _forward(graph: Any, name: str) -> Any:
    """The op that a node is the gradient of, which is what the user wrote; None where it is no gradient."""
    if not name.startswith(_GRADIENT):
        return None
    parts = name.removeprefix(_GRADIENT).split("/")
    while parts := parts[:-1]:
        try:
            return graph.get_operation_by_name("/".join(parts))
        except (KeyError, ValueError):
            continue
    return None


def _user_line(trace: Iterable[Any]) -> tuple[str | None, int | None]:
    users = [frame for frame in trace if is_users(frame.filename)]
    return (users[-1].filename, users[-1].lineno) if users else (None, None)


def layer_of(node: str) -> str | None:
    """The innermost scope of the node that is the name of a living Keras layer. Scopes may have a number appended."""
    kinds = [_layer_kind(name) for name in ("keras", "tf_keras") if name in sys.modules]
    alive = {
        name
        for thing in gc.get_objects()
        if isinstance(thing, tuple(kinds)) and isinstance(name := getattr(thing, "name", None), str)
    }
    for scope in reversed(node.removeprefix(_GRADIENT).split("/")[:-1]):
        for candidate in (scope, re.sub(r"_\d+$", "", scope)):
            if candidate in alive:
                return candidate
    return None


def _layer_kind(framework: str) -> type:
    kind: type = sys.modules[framework].layers.Layer
    return kind
