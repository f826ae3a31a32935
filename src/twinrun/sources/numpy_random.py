"""NumPy: the global stream behind `np.random.*`. Generators made without a seed are seen where they take entropy."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from types import ModuleType
from typing import Any

from twinrun.sources import entropy as outside
from twinrun.twin.event_log import Book, caller

_NOT_DRAWS = {
    "seed",
    "get_state",
    "set_state",
    "default_rng",
    "get_bit_generator",
    "set_bit_generator",
    "test",
}


_METHODS = {
    "sample": "random_sample",
    "ranf": "random_sample",
}  # functions that no generator has by that name


def install(book: Book, module: ModuleType) -> None:
    for name in module.__all__:
        original = getattr(module, name)
        if callable(original) and not isinstance(original, type) and name not in _NOT_DRAWS:
            setattr(module, name, _draw(book, module, name, original))
    module.seed = _seed(book, module, module.seed)  # type: ignore[attr-defined]
    module.mtrand._rand = _as_libraries_know_it(module)
    outside.numpy_ready.append(True)
    # NumPy has its own copy now: from here on this is the user's.
    secrets.randbits = outside.randbits(book, "entropy", "secrets.randbits")  # type: ignore[assignment]


def _as_libraries_know_it(module: ModuleType) -> Any:
    """Libraries that get no seed (scikit-learn, SciPy) take the object behind `np.random.*` and call its methods. This
    one is of the same class and draws from the very same stream, through the functions that are noted."""
    stream = module.mtrand._rand

    def __reduce__(self: Any) -> Any:  # noqa: N807
        return stream.__reduce__()

    members: dict[str, Any] = {
        "__reduce__": __reduce__,
        "__module__": "numpy.random.mtrand",
        "_bit_generator": property(lambda self: stream._bit_generator),
    }
    for name in dir(stream):
        if not name.startswith("_") and callable(getattr(stream, name)):
            members[name] = staticmethod(getattr(module, name, getattr(stream, name)))
    # np.random.seed() looks the stream up by this name, and would come back to itself.
    members["seed"] = staticmethod(stream.seed)
    known: Any = type("RandomState", (module.RandomState,), members)(stream._bit_generator)
    replaced: Any = getattr(module, "set_bit_generator", None)

    def set_bit_generator(bitgen: Any) -> None:
        """It means the stream itself."""
        module.mtrand._rand = stream
        try:
            replaced(bitgen)
        finally:
            module.mtrand._rand = known

    if replaced is not None:
        module.set_bit_generator = set_bit_generator  # type: ignore[attr-defined]
    return known


def _draw(book: Book, module: ModuleType, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def draw(*args: Any, **kwargs: Any) -> Any:
        who = caller()
        number = book.steady("numpy", who)
        result = (
            original(*args, **kwargs)
            if number is None
            else getattr(module.RandomState(number), _METHODS.get(name, name))(*args, **kwargs)
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


def _seed(book: Book, module: ModuleType, original: Callable[..., Any]) -> Callable[..., Any]:
    def seed(*args: Any, **kwargs: Any) -> Any:
        who = caller()
        value = args[0] if args else kwargs.get("seed")
        kind = "seed:numpy" if value is not None else "unseed:numpy"
        number = book.steady(kind, who)
        result = original(*args, **kwargs) if number is None else original(number)
        given = repr(value).encode()[:4096] if value is not None else module.get_state()[1].tobytes()
        book.note(kind, who, "np.random.seed", given, seeded=repr(value)[:80])
        return result

    seed.__name__, seed.__module__ = "seed", "numpy.random"
    return seed
