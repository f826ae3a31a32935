"""Python randomness by element: inside a repeatable pipeline, Python code draws from its element's generator.

`element_rng(index)` is the way to ask for it. Code that draws from NumPy's or Python's global streams gets the
element's stream there too: the functions of those modules are redirected, and the redirection acts only in a thread
that is working on an element.
"""

from __future__ import annotations

import functools
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import xxhash

from twinrun.errors import TwinrunError


class _Working(threading.local):
    """What this thread is working on: the element's key, and the streams made from it."""

    key: int | None = None
    numpy: np.random.RandomState | None = None
    python: random.Random | None = None


_working = _Working()
_redirected: dict[tuple[Any, str], Any] = {}
_lock = threading.Lock()


def element_rng(index: Any = None, *, seed: int | None = None, epoch: int = 0) -> np.random.Generator:
    """A NumPy generator of its own for one element.

    Inside a pipeline made by `twinrun.repeatable` it follows from the pipeline's seed, the epoch and the
    element, and `index` is only needed for several generators in one call. Elsewhere (in a PyDataset's
    `__getitem__`, say) give it a `seed`, the `epoch` and the `index`.
    """
    key = _working.key
    if key is None and seed is None:
        raise TwinrunError(
            "element_rng has no pipeline to take its seed from",
            hint="pass the dataset to twinrun.repeatable, or write element_rng(index, seed=42, epoch=epoch)",
        )
    return _generator(repr((key, seed, epoch if key is None else 0, None if index is None else int(index))))


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
        before = _working.key, _working.numpy, _working.python
        _working.key, _working.numpy, _working.python = number, None, None
        try:
            return function(*arguments)
        finally:
            _working.key, _working.numpy, _working.python = before

    in_element.__twinrun_element__ = True  # type: ignore[attr-defined]
    return in_element


def redirect_global_streams() -> None:
    """From now on np.random and random draw from the element's stream in a thread that works on one."""
    with _lock:
        if _redirected:
            return
        for module, stream, make in (
            (np.random, np.random.RandomState, _numpy_stream),
            (random, random.Random, _python_stream),
        ):
            # By name, not by what they are bound to: the event log of draws may have wrapped them.
            for name, value in list(vars(module).items()):
                public = hasattr(stream, name) and not name.startswith("_")
                if public and callable(value) and not isinstance(value, type):
                    _redirect(module, name, _method_of(make, name))
        _redirect(np.random, "default_rng", functools.partial(_default_rng, np.random.default_rng))


def restore_global_streams() -> None:
    """Undo `redirect_global_streams`."""
    with _lock:
        for (module, name), original in _redirected.items():
            setattr(module, name, original)
        _redirected.clear()


def _redirect(module: Any, name: str, in_element: Callable[..., Any]) -> None:
    """Call `in_element` in place of a module's function while this thread works on an element."""
    original = getattr(module, name)

    @functools.wraps(original)
    def redirected(*arguments: Any, **named: Any) -> Any:
        return (original if _working.key is None else in_element)(*arguments, **named)

    redirected.__redirected__ = original  # type: ignore[attr-defined]
    del redirected.__wrapped__  # it is not the same function: nobody should look through it
    _redirected[(module, name)] = original
    setattr(module, name, redirected)


def _method_of(stream: Callable[[], Any], name: str) -> Callable[..., Any]:
    """A method of the element's stream, which is made when it is first called."""

    def method(*arguments: Any, **named: Any) -> Any:
        return getattr(stream(), name)(*arguments, **named)

    return method


def _default_rng(original: Callable[..., Any], seed: Any = None) -> Any:
    """Without a seed: the element's own generator."""
    return _generator(f"rng/{_working.key}") if seed is None else original(seed)


def _generator(name: str) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=_digest(name)))


def _numpy_stream() -> np.random.RandomState:
    if _working.numpy is None:
        seed = np.frombuffer(_digest(f"numpy/{_working.key}").to_bytes(16, "big"), np.uint32)
        _working.numpy = np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed.tolist())))
    return _working.numpy


def _python_stream() -> random.Random:
    if _working.python is None:
        _working.python = random.Random(_digest(f"python/{_working.key}"))
    return _working.python


def _digest(name: str) -> int:
    return xxhash.xxh3_128_intdigest(name.encode())
