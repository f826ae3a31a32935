"""Python's `random` module, whose functions share one hidden stream, and `random.Random()` without a seed."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

from twinrun.protocol.control import Control, Reading, Undo
from twinrun.protocol.pin import PinRequest
from twinrun.protocol.point import Point, Wrap
from twinrun.protocol.registry import frameworks
from twinrun.protocol.seeds import derive
from twinrun.protocol.suspect import Weight
from twinrun.sources.seeding import apply_seed, read_seed, record_seeding
from twinrun.sources.stream import StreamSource
from twinrun.twin.callers import blamed_caller, caller
from twinrun.twin.session import Session

NAME = "python-random"
_DRAWS = (
    "random", "uniform", "triangular", "randint", "choice", "randrange", "sample", "shuffle", "choices",
    "normalvariate", "lognormvariate", "expovariate", "vonmisesvariate", "gammavariate", "gauss", "betavariate",
    "binomialvariate", "paretovariate", "weibullvariate", "getrandbits", "randbytes",
)  # fmt: skip
_BLOCK = 624  # words of the stream's state; a fresh one stands at its end
_stream: Any = random._inst


def _draw(name: str) -> Wrap:
    def wrap(session: Session, original: Callable[..., Any]) -> Callable[..., Any]:
        log = session.log

        def draw(*args: Any, **kwargs: Any) -> Any:
            def data(result: Any) -> bytes:
                value = args[0] if name == "shuffle" and args else result
                return repr(value).encode("utf-8", "replace")[:4096]

            def frozen(number: int) -> Any:
                return getattr(random.Random(number), name)(*args, **kwargs)

            who = blamed_caller()
            owner = log.owner(NAME, who)  # a framework that takes its default seeds from here
            action, call = "draw" if owner == NAME else "take", f"random.{name}"
            return log.value(owner, action, who, call, lambda: original(*args, **kwargs), frozen, data)

        return draw

    return wrap


def _watch_seed(session: Session, original: Callable[..., None]) -> Callable[..., None]:
    """Of the class, so that seeding the hidden stream is seen however it is done. An instance without a seed takes
    fresh entropy."""

    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        if self is _stream:
            record_seeding(
                session, NAME, "random.seed", caller(), a, lambda value: original(self, value, version), state
            )
        elif a is None and type(self) is random.Random:
            _seed_instance(session, original, self)
        else:
            original(self, a, version)

    def state() -> bytes:
        return repr(_stream.getstate()[1][:8]).encode()

    return seed


def _seed_instance(session: Session, original: Callable[..., None], made: random.Random) -> None:
    who = caller(3)
    if who is None or who.via not in ("", "random"):
        original(made)
        return
    original(made, session.log.frozen("generators", "make", who))
    state = repr(made.getstate()[1][:8])
    session.log.record("generators", "make", who, "random.Random", state.encode())


def _watch_setstate(session: Session, original: Callable[..., None]) -> Callable[..., None]:
    def setstate(self: random.Random, state: Any) -> None:
        original(self, state)
        if self is _stream:
            session.pins.seeded(NAME, None, restored=True)

    return setstate


def _through_class(name: str) -> Wrap:
    """The module's function is a method that was bound before the class was watched."""

    def wrap(session: Session, original: Callable[..., None]) -> Callable[..., None]:
        def function(*args: Any, **kwargs: Any) -> None:
            getattr(_stream, name)(*args, **kwargs)

        return function

    return wrap


def _wanted(request: PinRequest) -> dict[str, int]:
    return {"seed": derive(request.seed, "python random")}


def _apply(request: PinRequest) -> Undo:
    before = random.getstate()
    return apply_seed(NAME, _wanted(request)["seed"], random.seed, lambda: random.setstate(before))


def _read(request: PinRequest | None) -> Reading:
    return read_seed(NAME, "random.seed", lambda seed: random.Random(seed).getstate() == random.getstate())


class PythonRandom(StreamSource):
    name = stream = NAME
    title = "Python's global stream"
    codes = ("TW101", "TW106", "TW204", "TW205", "TW403")
    actions = ("draw", "seed", "reseed")
    on_host = True
    weight = Weight(init=8, batch=9, later=7)
    points = (
        *(
            Point(f"random:{name}", _draw(name), "draws from Python's global stream", ("cause",),
                  optional=name == "binomialvariate")
            for name in _DRAWS
        ),
        Point("random:Random.seed", _watch_seed, "seeds of Python's global stream; random.Random() without a seed",
              ("cause", "pin")),
        Point("random:seed", _through_class("seed"), "seeds of Python's global stream", ("cause", "pin")),
        Point("random:Random.setstate", _watch_setstate, "saved states put back into Python's global stream", ("pin",)),
        Point("random:setstate", _through_class("setstate"), "saved states put back into Python's global stream", ("pin",)),
    )  # fmt: skip
    controls = (
        Control(
            name=NAME,
            protects="draws from Python's random module",
            moment="before a model or dataset is built",
            how="random.seed(42), or keras.utils.set_random_seed(42), right after the imports",
            wanted=_wanted,
            apply=_apply,
            read=_read,
        ),
    )

    def used_before(self) -> list[str]:
        at = random.getstate()[1][-1]
        drawn = 0 if at == _BLOCK else at
        by_imports = sum(each.import_draws for each in frameworks() if each.module in sys.modules)
        return ["draws from Python's random"] if drawn > by_imports else []
