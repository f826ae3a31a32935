"""Python randomness by element: inside a repeatable pipeline, Python code draws from its element's generator.

`element_rng(index)` is the way to ask for it. Code that draws from NumPy's or Python's global streams gets the
element's stream there too: the functions of those modules are redirected, and the redirection acts only in a thread
that is working on an element. It goes around whatever stands in their place, the event log's wrappers included, so it
is not part of the patch table, where each function is replaced once.
"""

from __future__ import annotations

import functools
import operator
import random
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import xxhash

from twinrun.errors import TwinrunError
from twinrun.pipelines.autograph import unconverted
from twinrun.protocol.point import Point
from twinrun.twin.patch_table import replace
from twinrun.twin.session import current


class _Element:
    """What a thread is working on: the element's key, and the streams made from it."""

    def __init__(self, key: int) -> None:
        self.key = key

    @functools.cached_property
    def numpy(self) -> np.random.RandomState:
        seed = np.frombuffer(_digest(f"numpy/{self.key}").to_bytes(16, "big"), np.uint32)
        return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed.tolist())))

    @functools.cached_property
    def python(self) -> random.Random:
        return random.Random(_digest(f"python/{self.key}"))

    def default_rng(self, seed: Any = None) -> Any:
        """Without a seed: the element's own generator."""
        original = _redirected[(np.random, "default_rng")]
        return _generator(f"rng/{self.key}") if seed is None else original(seed)


class _Working(threading.local):
    element: _Element | None = None


_working = _Working()
_redirected: dict[tuple[Any, str], Any] = {}
_lock = threading.Lock()


def element_rng(index: Any = None, *, seed: int | None = None, epoch: int = 0) -> np.random.Generator:
    """A NumPy generator for one element.

    Inside a pipeline made by `twinrun.repeatable` it follows from the pipeline's seed, the epoch and the
    element, and `index` is only needed for several generators in one call. Elsewhere (in a PyDataset's
    `__getitem__`, say) give it a `seed`, the `epoch` and the `index`.
    """
    element = _working.element
    if element is None and seed is None:
        raise TwinrunError(
            "element_rng has no pipeline to take its seed from",
            hint="pass the dataset to twinrun.repeatable, or write element_rng(index, seed=42, epoch=epoch)",
        )
    key, epoch = (None, epoch) if element is None else (element.key, 0)
    return _generator(repr((key, seed, epoch, None if index is None else int(index))))


def for_each_element(function: Callable[..., Any], *, counting: bool = False) -> Callable[..., Any]:
    """`function` with its element's key before its arguments.

    A generator's `next` is called with the same key for every element of an epoch, so there the elements are
    counted.
    """
    counts: dict[Any, int] = {}

    def in_element(key: Any, *arguments: Any) -> Any:
        number = int(np.asarray(key).reshape(-1)[0])
        if counting:
            iteration = (number, *(np.asarray(argument).tobytes() for argument in arguments))
            counts[iteration] = counts.get(iteration, -1) + 1
            number = xxhash.xxh3_64_intdigest(f"{number}/{counts[iteration]}".encode())
        before, _working.element = _working.element, _Element(number)
        try:
            return function(*arguments)
        finally:
            _working.element = before

    in_element.__twinrun_element__ = True  # type: ignore[attr-defined]
    return in_element


def redirect_global_streams() -> None:
    """From now on np.random and random draw from the element's stream in a thread that works on one."""
    with _lock:
        if _redirected:
            return
        for module, stream, attribute in (
            (np.random, np.random.RandomState, "numpy"),
            (random, random.Random, "python"),
        ):
            # By name, not by what they are bound to: the event log of draws may have wrapped them.
            for name, value in list(vars(module).items()):
                public = hasattr(stream, name) and not name.startswith("_")
                if public and callable(value) and not isinstance(value, type):
                    _redirect(module, name, f"{attribute}.{name}")
        _redirect(np.random, "default_rng", "default_rng")


def restore_global_streams() -> None:
    """Undo `redirect_global_streams`."""
    with _lock:
        for (module, name), original in _redirected.items():
            setattr(module, name, original)
        _redirected.clear()


def _redirect(module: ModuleType, name: str, path: str) -> None:
    """While this thread works on an element, what `path` leads to from there is called in place of a module's function."""
    of = operator.attrgetter(path)

    def wrap(session: Any, original: Any) -> Any:
        def redirected(*arguments: Any, **named: Any) -> Any:
            element = _working.element
            return (original if element is None else of(element))(*arguments, **named)

        return unconverted(redirected)

    point = Point(f"{module.__name__}:{name}", wrap, "an element draws from its own stream", ("pin",))
    _redirected[(module, name)], _ = replace(point, current())


def _generator(name: str) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=_digest(name)))


def _digest(name: str) -> int:
    return xxhash.xxh3_128_intdigest(name.encode())
