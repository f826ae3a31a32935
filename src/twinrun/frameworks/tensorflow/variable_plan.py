"""How all variables are read and digested at a step: many in one call, and on the device that they lie on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

import numpy as np
import tensorflow as tf

from twinrun.frameworks.tensorflow import device_digest
from twinrun.frameworks.tensorflow.reading import Packed, Together, read_handle
from twinrun.recording.digest import Digester, digest_array, digest_rows
from twinrun.recording.sum_digest import sum_digest

_MANY, _SMALL = 256, 4096  # so many variables of so few bytes are packed


@dataclass(eq=False)
class Tracked:
    """One variable. Through its `handle` its value can be read even when the Python object is gone. None once the last
    value of a dead one was seen."""

    ref: Callable[[], Any]
    handle: Any
    kind: int  # its type's number in TensorFlow
    is_integer: bool
    size: int  # in bytes, 0 where it is not known
    shape: tuple[int, ...] | None  # None where it is not known, or where the elements are no numbers
    number: int  # in the order of creation
    own_name: str
    site: tuple[str, int] | None
    path: str | None = None  # its name in Keras
    name: str = ""
    phase: str = "weights"
    digest: int = 0  # as it was when last looked at
    last: int | None = None  # as it was when it died
    changed: int = 0  # the look that saw it change
    reported: bool = True
    kept: bool = False  # see Variables.release_kept
    role: str = ""  # see Facts
    on_device: bool = False  # digested there

    def look(self) -> int | None:
        """Its digest as it is now; None where it has no value yet. May raise NotOnDevice."""
        handle = self.handle
        if handle is None:
            return self.last
        if self.on_device and device_digest.is_better_there(self.placed.dtype, self.placed.shape, self.size):
            return self._digest_there()
        found = read_handle(handle, self.kind, self.size)
        if found is None:
            return None
        return sum_digest(found) if self.on_device else digest_array(found)

    def _digest_there(self) -> int | None:
        with _on_device():
            with tf.init_scope(), tf.device(self.handle.device):
                try:
                    value = tf.raw_ops.ReadVariableOp(resource=self.handle, dtype=self.placed.dtype)
                except (tf.errors.FailedPreconditionError, tf.errors.NotFoundError):
                    return None
            return device_digest.digest_value(value, self.handle.device)

    @property
    def placed(self) -> device_digest.Placed:
        return device_digest.Placed(self.handle, tf.as_dtype(self.kind), self.shape or ())

    def value(self) -> np.ndarray | None:
        """The variable's own memory."""
        handle = self.handle
        return None if handle is None else read_handle(handle, self.kind, self.size)


class NotOnDevice(Exception):
    """A device that should digest what lies on it does not."""


class Plan:
    """How to read all variables at every look: worked out once, and again when variables come or go. `settled` where they
    have not done so for some time: what takes longer to make and is faster then pays for itself."""

    def __init__(self, tracked: list[Tracked], *, settled: bool = False) -> None:
        alive = [one for one in tracked if one.handle is not None]
        dead = [one for one in tracked if one.handle is None]
        self.settled, self.looks = settled, 0
        on_host = [one for one in alive if not one.on_device]
        small = [one for one in on_host if one.shape is not None and 0 < one.size <= _SMALL]
        self._packed = _pack(small) if settled else None
        self._small = [small[number] for number in self._packed.order] if self._packed is not None else []
        apart = set(self._small)
        self._others = [one for one in on_host if one not in apart]
        self._on_devices = sorted([one for one in alive if one.on_device], key=_device)
        self._dead = [one.last for one in dead]
        self.tracked = [*self._small, *self._others, *self._on_devices, *dead]
        self._together: Together | None = None
        if self._others and all(one.size for one in self._others):
            self._together = Together(
                [one.handle for one in self._others], [one.kind for one in self._others]
            )
        self._digester = Digester([one.size for one in self._others])
        self._compiled = _compile(self._on_devices) if settled else None

    def begin(self) -> bool:
        """Start what a device can do meanwhile; `digests` takes the result unless it is forgotten. Returns whether there is
        such a device."""
        with _on_device():
            for compiled in self._compiled or ():
                compiled.begin()
        return bool(self._compiled)

    def forget(self) -> None:
        for compiled in self._compiled or ():
            compiled.forget()

    def digests(self) -> list[int | None]:
        """The digests of `tracked`, as they are now."""
        self.looks += 1
        groups = self._packed.read() if self._packed is not None else None
        arrays = self._together.read() if self._together is not None else None
        found: list[int | None] = []
        if groups is None:
            found += [one.look() for one in self._small]
        else:
            for group in groups:
                found += digest_rows(group)
        found += [one.look() for one in self._others] if arrays is None else self._digester.digest(arrays)
        with _on_device():
            if self._compiled is None:
                found += [one.look() for one in self._on_devices]
            else:
                found += chain.from_iterable(compiled.digests() for compiled in self._compiled)
        return found + self._dead


@contextlib.contextmanager
def _on_device() -> Iterator[None]:
    try:
        yield
    except NotOnDevice:
        raise
    except Exception as problem:
        raise NotOnDevice(device_digest.in_words(problem)) from problem


def _compile(tracked: list[Tracked]) -> list[device_digest.Together]:
    """One call for those of each device."""
    with _on_device():
        return [
            device_digest.Together([one.placed for one in members])
            for _, members in groupby(tracked, key=_device)
        ]


def _device(one: Tracked) -> str:
    return str(one.handle.device)


def _pack(small: list[Tracked]) -> Packed | None:
    """Pack small variables. None where there are too few to gain anything, or where it is not possible."""
    shapes = [one.shape for one in small if one.shape is not None]
    if len(small) < _MANY:
        return None
    try:
        packed = Packed([one.handle for one in small], [one.kind for one in small], shapes)
    except Exception:
        return None
    return None if packed.read() is None else packed
