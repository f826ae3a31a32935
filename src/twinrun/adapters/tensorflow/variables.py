"""Every variable the program makes, in the order of creation, under a name that means something to its author."""

from __future__ import annotations

import ast
import linecache
import sys
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context

from twinrun.adapters.tensorflow.tensors import EagerTensor
from twinrun.launch.sites import user_site
from twinrun.launch.watch import Block
from twinrun.recording.digest import digest_array

_HELD_BYTES = 256 << 20


@dataclass
class Tracked:
    ref: Callable[[], Any]
    site: tuple[str, int] | None
    order: int
    name: str = ""
    phase: str = "weights"
    seen: bool = False


class Variables:
    """Weak references only: the program's variables die when they would have died."""

    def __init__(self) -> None:
        self.paths: list[Callable[[], Iterable[tuple[Any, str]]]] = []  # adapters of Keras name what they made
        self.ignore = False  # while Keras makes the variables of a metric
        self.metric_state = 0
        self._tracked: list[Tracked] = []
        self._rows: list[Tracked] = []
        self._names: dict[str, int] = {}
        self._stale = False
        self._held: list[Any] = []
        self._held_bytes = 0

    def note(self, variable: Any) -> None:
        """A variable was made. `held` keeps it to the end of a program that never trains: there is no other look at it."""
        if self.ignore or type(variable).__name__ == "_UnreadVariable":  # a second name for a variable we know
            return
        self._tracked.append(Tracked(weakref.ref(variable, self._gone), user_site(), len(self._tracked)))
        self._stale = True
        if self._held_bytes < _HELD_BYTES:
            self._held.append(variable)
            self._held_bytes += _size(variable)

    def _gone(self, _: Any) -> None:
        self._stale = True

    def release(self) -> None:
        """The program trains: every variable that matters is seen at its steps, none need be kept for the end."""
        self._held.clear()
        self._held_bytes = _HELD_BYTES

    @property
    def newborn(self) -> bool:
        return self._stale

    def rows(self) -> list[Tracked]:
        if self._stale:
            self._stale = False
            self._tracked = [one for one in self._tracked if one.ref() is not None]
            self._name_all()
            self._rows = [one for one in self._tracked if one.name]
        return self._rows

    def _name_all(self) -> None:
        nameless = [one for one in self._tracked if not one.name]
        if not nameless:
            return
        paths = {id(variable): path for source in self.paths for variable, path in source()}
        for one in nameless:
            variable = one.ref()
            if variable is None or not isinstance(getattr(variable, "_handle", None), EagerTensor):
                continue  # made inside a tf.function that is still being traced: asked again next time
            base = paths.get(id(variable)) or _own_name(variable, one.site)
            count = self._names[base] = self._names.get(base, 0) + 1
            one.name = base if count == 1 else f"{base}#{count}"
            one.phase = "seed" if _is_seed_state(variable, one.name) else "weights"

    def blocks(self, phase: str, only_new: bool = False) -> list[Block]:
        """The variables as they are now. In phase `weights`, states of random streams go under `seed`."""
        chosen: dict[str, tuple[list[str], list[int], list[Tracked]]] = {}
        for one in self.rows():
            if only_new and one.seen:
                continue
            variable = one.ref()
            tensor = None if variable is None else read(variable)
            if tensor is None:
                continue
            one.seen = True
            names, digests, members = chosen.setdefault(one.phase, ([], [], []))
            names.append(one.name)
            digests.append(digest_array(tensor))
            members.append(one)
        return [
            Block("seed" if kind == "seed" else phase, tuple(names), digests, _reader(members))
            for kind, (names, digests, members) in chosen.items()
        ]


def read(variable: Any) -> np.ndarray | None:
    """The variable's own memory, not copied. Whoever keeps it makes TensorFlow copy at the next update."""
    if not isinstance(variable._handle, EagerTensor):  # made inside a tf.function that is still being traced
        return None
    try:
        tensor = pywrap_tfe.TFE_Py_FastPathExecute(
            context.context(), "ReadVariableOp", None, variable._handle, "dtype", variable._dtype.as_datatype_enum
        )
    except (tf.errors.FailedPreconditionError, tf.errors.NotFoundError):  # not initialised yet, or gone
        return None
    if tensor.dtype in (tf.variant, tf.resource):
        return None
    array = np.asarray(tensor._numpy())
    # A variable that a tf.function has made and not yet initialised reads as empty.
    return None if array.size == 0 and _size(variable) else array


def _reader(members: list[Tracked]) -> Callable[[int], np.ndarray | None]:
    def value(number: int) -> np.ndarray | None:
        variable = members[number].ref()
        found = None if variable is None else read(variable)
        return None if found is None else found.copy()

    return value


def _size(variable: Any) -> int:
    try:
        return int(variable.shape.num_elements() or 0) * int(variable.dtype.size)
    except (TypeError, ValueError, AttributeError):
        return 0


def _is_seed_state(variable: Any, name: str) -> bool:
    last = name.rpartition("/")[2].partition("#")[0]
    return variable.dtype.is_integer and last in ("seed_generator_state", "StateVar")


def _own_name(variable: Any, site: tuple[str, int] | None) -> str:
    """The name it was given; when it was given none, the name it is assigned to on the line that made it."""
    name = str(getattr(variable, "name", "") or "Variable").partition(":")[0]
    if name.rpartition("/")[2] != "Variable" or site is None:
        return name
    return _assigned_name(*site) or name


def _assigned_name(file: str, line: int) -> str | None:
    source = linecache.getline(file, line).strip()
    try:
        statement = ast.parse(source).body[0]
    except (SyntaxError, IndexError):
        return None
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    target = targets[0] if targets else None
    if isinstance(target, ast.Name):
        return target.id
    return target.attr if isinstance(target, ast.Attribute) else None


def device_of(variable: Any) -> str:
    return str(getattr(variable, "device", "")) or sys.platform
