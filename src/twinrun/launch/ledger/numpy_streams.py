"""NumPy: the global stream behind `np.random.*`. Generators made without a seed are seen where they take entropy."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from types import ModuleType
from typing import Any

from twinrun.launch.ledger import outside
from twinrun.launch.ledger.book import Book, caller

_NOT_DRAWS = {
    "seed",
    "get_state",
    "set_state",
    "default_rng",
    "get_bit_generator",
    "set_bit_generator",
    "test",
}


def install(book: Book, module: ModuleType) -> None:
    for name in module.__all__:
        original = getattr(module, name)
        if callable(original) and not isinstance(original, type) and name not in _NOT_DRAWS:
            setattr(module, name, _draw(book, module, name, original))
    module.seed = _seed(book, module.seed)  # type: ignore[attr-defined]
    outside.numpy_ready.append(True)
    # NumPy has its own copy now: from here on this is the user's.
    secrets.randbits = outside.randbits(book, "entropy", "secrets.randbits")  # type: ignore[assignment]


def _draw(book: Book, module: ModuleType, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def draw(*args: Any, **kwargs: Any) -> Any:
        who = caller()
        number = book.steady("numpy", who)
        result = (
            original(*args, **kwargs)
            if number is None
            else getattr(module.RandomState(number), name)(*args, **kwargs)
        )
        shown = args[0] if name == "shuffle" and args else result
        book.note("numpy", who, f"np.random.{name}", _bytes(shown))
        return result

    draw.__name__ = draw.__qualname__ = name
    draw.__module__ = "numpy.random"
    draw.__doc__ = original.__doc__
    return draw


def _bytes(value: Any) -> bytes:
    import numpy as np

    array = np.asarray(value)
    if array.dtype.kind == "O" or array.nbytes > 1 << 20:  # enough to tell two draws apart
        return repr(array.reshape(-1)[:256].tolist()).encode("utf-8", "replace") + str(array.shape).encode()
    return array.tobytes()


def _seed(book: Book, original: Callable[..., Any]) -> Callable[..., Any]:
    def seed(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        value = args[0] if args else kwargs.get("seed")
        book.note(
            "seed:numpy", caller(), "np.random.seed", repr(value).encode()[:4096], seeded=repr(value)[:80]
        )
        return result

    seed.__name__, seed.__module__ = "seed", "numpy.random"
    return seed
