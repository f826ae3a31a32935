"""Python's `random` module, whose functions share one hidden stream, and `random.Random()` without a seed."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

from twinrun.protocol import seeds
from twinrun.protocol.control import Control, Reading, Undo
from twinrun.protocol.pin import PinRequest
from twinrun.protocol.point import Point, Wrap
from twinrun.protocol.registry import frameworks
from twinrun.protocol.suspect import Weight
from twinrun.sources.seeding import apply_seed, read_seed
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
            who = blamed_caller()
            owner = log.owner(NAME, who)  # a framework that takes its default seeds from here
            action = "draw" if owner == NAME else "take"
            number = log.frozen(owner, action, who)
            if number is None:
                result = original(*args, **kwargs)
            else:
                result = getattr(random.Random(number), name)(*args, **kwargs)
            value = args[0] if name == "shuffle" and args else result
            log.record(owner, action, who, f"random.{name}", repr(value).encode("utf-8", "replace")[:4096])
            return result

        return draw

    return wrap


def _watch_seed(session: Session, original: Callable[..., None]) -> Callable[..., None]:
    """Of the class, so that seeding the hidden stream is seen however it is done. An instance without a seed takes
    fresh entropy."""

    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        if self is _stream:
            _seed_stream(session, original, a, version)
        elif a is None and type(self) is random.Random:
            _seed_instance(session, original, self)
        else:
            original(self, a, version)

    return seed


def _seed_stream(session: Session, original: Callable[..., None], a: Any, version: int) -> None:
    who = caller(3)
    action = "reseed" if a is None else "seed"
    number = session.log.frozen(NAME, action, who)
    value, version = (a, version) if number is None else (number, 2)
    original(_stream, value, version)
    session.pins.seeded(NAME, value)
    given = repr(_stream.getstate()[1][:8]) if a is None else repr(a)
    seed = None if a is None else repr(a)[:80]
    session.log.record(NAME, action, who, "random.seed", given.encode()[:4096], seed=seed)


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


def _apply(request: PinRequest) -> Undo:
    before = random.getstate()
    return apply_seed(NAME, seeds.python_seed(request.seed), random.seed, lambda: random.setstate(before))


def _read(request: PinRequest | None) -> Reading:
    return read_seed(NAME, "random.seed", lambda seed: random.Random(seed).getstate() == random.getstate())


class PythonRandom(StreamSource):
    name = NAME
    stream = NAME
    title = "Python's global stream"
    code = "TW101"
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
            wanted=lambda request: {"seed": seeds.python_seed(request.seed)},
            apply=_apply,
            read=_read,
        ),
    )

    def used_before(self) -> list[str]:
        at = random.getstate()[1][-1]
        drawn = 0 if at == _BLOCK else at
        by_imports = sum(each.import_draws for each in frameworks() if each.module in sys.modules)
        return ["draws from Python's random"] if drawn > by_imports else []
