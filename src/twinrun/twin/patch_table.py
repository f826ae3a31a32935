"""The one installer of points: replaces foreign functions, each once, and keeps a table of what was found."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import inspect
import os
import sys
from collections.abc import Iterable
from importlib import import_module
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from twinrun.errors import MissingPoint
from twinrun.protocol.point import Point
from twinrun.twin.imports import when_imported

if TYPE_CHECKING:
    from twinrun.twin.session import Session

Status = Literal["waiting", "installed", "missing"]
_COPIED = ("__name__", "__qualname__", "__doc__", "__module__", "__signature__")
# Libraries ask what a function of `os` can do by looking it up in these sets.
_ABILITIES = ("supports_fd", "supports_dir_fd", "supports_follow_symlinks", "supports_effective_ids")


class Row(msgspec.Struct):
    """A point as found in this process."""

    owner: str  # the source or framework it belongs to
    place: str
    needed_for: list[str]
    reason: str
    tested_on: str
    optional: bool
    status: Status = "waiting"  # for the program to import the module
    why: str = ""


class PatchTable:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._rows: dict[tuple[str, str], Row] = {}

    def rows(self) -> list[Row]:
        return list(self._rows.values())

    def install(self, owner: str, points: Iterable[Point]) -> None:
        """Each point when its library is imported. One that its owner has installed already stays as it is; several owners
        may wrap one place."""
        waiting: dict[str, list[Point]] = {}
        for point in points:
            if (owner, point.place) not in self._rows:
                self._rows[owner, point.place] = Row(
                    owner, point.place, list(point.needed_for), point.reason, point.tested_on, point.optional
                )
                waiting.setdefault(point.trigger, []).append(point)
        for module, together in waiting.items():
            when_imported(module, lambda _, together=together: self._apply(owner, together))  # type: ignore[misc]

    def _apply(self, owner: str, points: list[Point]) -> None:
        everywhere: dict[str, dict[int, tuple[Any, Any]]] = {}
        for point in points:
            row = self._rows[owner, point.place]
            try:
                original, replacement = replace(point, self._session)
            except MissingPoint as problem:
                row.status, row.why = "missing", problem.message
                if not point.optional:
                    self._missing(point, problem)
            except Exception as problem:  # the wrapper expects something else: as good as missing
                row.status, row.why = "missing", f"{type(problem).__name__}: {problem}"
                message = f"{point.place} is not as expected: {row.why}"
                self._missing(point, MissingPoint(message, where=point.place))
            else:
                row.status = "installed"
                if point.everywhere:
                    everywhere.setdefault(point.everywhere, {})[id(original)] = (original, replacement)
        for package, pairs in everywhere.items():
            _replace_everywhere(pairs, package)

    def _missing(self, point: Point, problem: MissingPoint) -> None:
        """Reported at once, or when the program first calls what leads to the point."""
        if not point.entrance:
            self._session.point_missing(point, problem)
            return
        self._session.notes.append(
            f"{problem.message}: a program that calls {point.entrance} cannot be checked"
        )

        def wrap(session: Session, original: Any) -> Any:
            def entrance(*args: Any, **kwargs: Any) -> Any:
                session.point_missing(point, problem)
                return original(*args, **kwargs)

            return entrance

        with contextlib.suppress(MissingPoint):  # then no program can call it
            replace(Point(point.entrance, wrap, point.reason, point.needed_for), self._session)


def replace(point: Point, session: Session) -> tuple[Any, Any]:
    """Put the replacement in place. Returns the original and the replacement."""
    owner, name = find(point.place)
    original = owner.__dict__[name] if isinstance(owner, type) else getattr(owner, name)
    replacement = point.wrap(session, original)
    before, after = _function(original), _function(replacement)
    if callable(after) and not isinstance(after, type):
        for attribute in _COPIED:
            if hasattr(before, attribute):
                setattr(after, attribute, getattr(before, attribute))
        if isinstance(owner, ModuleType) and "." in getattr(after, "__qualname__", ""):
            # A bound method under the name of a function, as in `random`: pickle looks it up by these two.
            after.__module__, after.__qualname__ = point.module, name
        after.__wrapped__ = before
        if isinstance(before, FunctionType):
            # Libraries look at arguments in ways that do not see through __wrapped__: Keras, to configure a layer.
            with contextlib.suppress(ValueError):  # another owner's replacement of what was built without one
                after.__signature__ = inspect.signature(before)
    if owner is os:
        for ability in _ABILITIES:
            able: set[Any] = getattr(os, ability, set())
            if original in able:
                able.add(replacement)
    _set(owner, name, replacement)
    return original, replacement


def _function(thing: Any) -> Any:
    """The function of a static or class method, which does not take attributes itself; else the thing."""
    return thing.__func__ if isinstance(thing, (staticmethod, classmethod)) else thing


def find(place: str) -> tuple[Any, str]:
    """The module or class that holds a place, and the name in it."""
    module, _, path = place.partition(":")
    *parents, name = path.split(".")
    try:
        owner: Any = sys.modules.get(module) or import_module(module)
        for parent in parents:
            owner = getattr(owner, parent)
        if not (name in owner.__dict__ if isinstance(owner, type) else hasattr(owner, name)):
            raise AttributeError(name)
    except (ImportError, AttributeError):
        raise MissingPoint(
            f"this release has no {place}",
            hint="use a release that Twinrun was tested with (docs/reference/frameworks.md)",
            where=place,
        ) from None
    return owner, name


def _set(owner: Any, name: str, value: Any) -> None:
    try:
        setattr(owner, name, value)
    except TypeError:  # a type that Python itself keeps closed, such as datetime.datetime
        members = gc.get_referents(owner.__dict__)
        if not (members and isinstance(members[0], dict) and name in members[0]):
            raise
        members[0][name] = value
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))


def _replace_everywhere(pairs: dict[int, tuple[Any, Any]], package: str) -> None:
    """Wherever the package's modules hold an original under some name, put the replacement. One function is
    re-exported by many modules, and there are thousands of them: so all pairs in one pass."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != package or not isinstance(module, ModuleType):
            continue
        for attribute, value in list(vars(module).items()):
            pair = pairs.get(id(value))
            if pair is not None and pair[0] is value:
                setattr(module, attribute, pair[1])
