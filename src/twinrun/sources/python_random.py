"""Python's own `random`: the module's functions share one hidden stream. Each is wrapped to note who drew from it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from twinrun.twin.event_log import Book, caller, drawer

_DRAWS = (
    "random", "uniform", "triangular", "randint", "choice", "randrange", "sample", "shuffle", "choices",
    "normalvariate", "lognormvariate", "expovariate", "vonmisesvariate", "gammavariate", "gauss", "betavariate",
    "binomialvariate", "paretovariate", "weibullvariate", "getrandbits", "randbytes",
)  # fmt: skip
KERAS = ("keras", "tf_keras")


def install(book: Book) -> None:
    for name in _DRAWS:
        original = getattr(random, name, None)
        if original is not None:
            setattr(random, name, _draw(book, name, original))
    random.seed = _seed(book, random.seed)
    # An instance without a seed takes fresh entropy: `random.Random()`.
    random.Random.seed = _instance_seed(book, random.Random.seed)  # type: ignore[method-assign]


def _draw(book: Book, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def draw(*args: Any, **kwargs: Any) -> Any:
        who = drawer()
        # Keras takes its default seeds from here: that is Keras being unseeded, not the user's own drawing.
        kind = (
            "keras-seed" if who is not None and (who.via in KERAS or who.near in KERAS) else "python-random"
        )
        number = book.steady(kind, who)
        if number is None:
            result = original(*args, **kwargs)
        else:
            result = getattr(random.Random(number), name)(*args, **kwargs)
        shown = args[0] if name == "shuffle" and args else result
        book.note(kind, who, f"random.{name}", repr(shown).encode("utf-8", "replace")[:4096])
        return result

    draw.__name__ = draw.__qualname__ = name
    draw.__module__ = "random"
    draw.__doc__ = original.__doc__
    return draw


def _seed(book: Book, original: Callable[..., Any]) -> Callable[..., Any]:
    def seed(*args: Any, **kwargs: Any) -> Any:
        who = caller()
        value = args[0] if args else kwargs.get("a")
        kind = "seed:python-random" if value is not None else "unseed:python-random"
        number = book.steady(kind, who)
        result = original(*args, **kwargs) if number is None else original(number)
        given = repr(value) if value is not None else repr(random.getstate()[1][:8])
        book.note(kind, who, "random.seed", given.encode()[:4096], seeded=repr(value)[:80])
        return result

    seed.__name__, seed.__module__ = "seed", "random"
    return seed


def _instance_seed(book: Book, original: Callable[..., Any]) -> Callable[..., Any]:
    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        if a is None and type(self) is random.Random:
            who = caller()
            if who is not None and who.via in ("", "random"):
                number = book.steady("generator", who)
                original(self, number, version)
                book.note("generator", who, "random.Random", repr(self.getstate()[1][:8]).encode())
                return
        original(self, a, version)

    return seed
