"""Where the program made and calls the layers of Keras: an op that runs inside a layer belongs to that line, and not to
the `model.fit(...)` that led to it."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from twinrun.frameworks.stack import frames
from twinrun.twin.callers import Caller, caller, conventions, is_users

Callers = weakref.WeakKeyDictionary[Any, Caller]
_made: Callers = weakref.WeakKeyDictionary()
_compiled: Callers = weakref.WeakKeyDictionary()


def layer_made(session: Any, original: Callable[..., None]) -> Callable[..., None]:
    """Around the constructor of layers, or the one below it."""
    return _remembered(_made, original)


def model_compiled(session: Any, original: Callable[..., None]) -> Callable[..., None]:
    """Around `Model.compile`, or what it calls first."""
    return _remembered(_compiled, original)


def _remembered(callers: Callers, original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> None:
        who = caller()
        if who is not None:
            callers[self] = who
        original(self, *args, **kwargs)

    return method


def where_made(layer: Any) -> Caller | None:
    try:
        return _made.get(layer)
    except TypeError:  # it is no layer
        return None


def where_compiled() -> Caller | None:
    """The line that compiled the model whose training is under way; None where no model's is."""
    for frame in frames():
        owner = frame.f_locals.get("self")
        if owner is not None and _is_model(owner) and (found := _compiled.get(owner)) is not None:
            return found
    return None


@dataclass(frozen=True)
class Place:
    """The line to show for what runs now, and the layer that it belongs to."""

    file: str | None = None
    line: int | None = None
    layer: str | None = None


def place() -> Place:
    """The line that calls the layer, where the user wrote it; where a model calls its layers by itself, the line that
    made the layer. Layers inside a layer of a library belong to that one."""
    who, made = caller(), None
    layers = list(_layers_called())
    model = next((n for n, (layer, by_user) in enumerate(layers) if _is_model(layer) and not by_user), None)
    inside = [layer for layer, _ in layers[:model] if not _is_model(layer)]
    if model is not None and inside:
        made = where_made(inside[-1])
    shown = made or who
    name = str(inside[-1].name) if inside else None
    return Place(shown.file if shown else None, shown.line if shown else None, name)


def _layers_called() -> Iterator[tuple[Any, bool]]:
    """Layers whose calls are under way, innermost first, each with whether the user wrote that call; up to the first
    line that is the user's own."""
    for frame in frames():
        layer, by_user = _layer_of(frame), _is_users_code(frame)
        if layer is not None:
            yield layer, by_user
        if by_user:
            return


def _layer_of(frame: FrameType) -> Any:
    if frame.f_code.co_name != "call":
        return None
    owner = frame.f_locals.get("self")
    return owner if isinstance(getattr(owner, "name", None), str) and hasattr(owner, "weights") else None


def _is_users_code(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return is_users(file) or conventions.is_generated(file)


def _is_model(layer: Any) -> bool:
    return hasattr(layer, "fit")
