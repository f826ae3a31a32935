"""Python's `random` module, whose functions share one hidden stream, and `random.Random()` without a seed."""

from __future__ import annotations

import random
import sys
from types import FrameType
from typing import Any

from twinrun.protocol import Control, PinRequest, Point, Reading, Undo, Weight, Wrap, derive, replacement
from twinrun.protocol.registry import frameworks
from twinrun.sources.library_generators import NAME as GENERATORS
from twinrun.sources.library_generators import OF_PYTHON, pinned_seed, record_making
from twinrun.sources.seeding import apply_seed, read_seed, record_seeding
from twinrun.sources.stream import StreamSource
from twinrun.twin.callers import Caller, blamed_caller, caller, thread_starter
from twinrun.twin.event_log import as_bytes
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
    @replacement
    def draw(session: Session, original: Any, *args: Any, **kwargs: Any) -> Any:
        def real() -> Any:
            return original(*args, **kwargs)

        def frozen(number: int) -> Any:
            return getattr(random.Random(number), name)(*args, **kwargs)

        def data(result: Any) -> bytes:
            return as_bytes(args[0] if name == "shuffle" and args else result)

        who = blamed_caller() or thread_starter()
        owner = session.log.owner(NAME, who)  # a framework that takes its default seeds from here
        action = "draw" if owner == NAME else "take"
        return session.log.value(owner, action, who, f"random.{name}", real, frozen, data)

    return draw


@replacement
def _seed(session: Session, original: Any, self: random.Random, a: Any = None, version: int = 2) -> None:
    """Patch seeding on the class, so that seeding the hidden stream is seen however it is done. An instance without a seed takes
    fresh entropy."""

    def set_seed(value: Any) -> None:
        original(self, value, version)

    def state() -> bytes:
        return repr(self.getstate()[1][:8]).encode()

    who = caller()
    if self is _stream:
        record_seeding(session, NAME, "random.seed", who, a, set_seed, state)
    elif a is None and type(self) is random.Random and who is not None and not _is_harmless(who):
        number = session.log.frozen(GENERATORS, "make", who)
        original(self, number if number is not None else pinned_seed(session, who))
        record_making(session, who, OF_PYTHON, state())
    else:
        set_seed(a)


def _is_harmless(who: Caller) -> bool:
    """Made by a framework, whose streams are watched by sources of their own, or to name temporary files."""
    if any(who.via == framework.module for framework in frameworks()) or who.via == "importlib":
        return True
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "twinrun",
        "random",
    ):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == "tempfile"


@replacement
def _setstate(session: Session, original: Any, self: random.Random, state: Any) -> None:
    original(self, state)
    if self is _stream:
        session.pins.seeded(NAME, None, restored=True)


def _through_class(name: str) -> Wrap:
    """The module's function is a method that was bound before the class was watched."""

    @replacement
    def function(session: Session, original: Any, *args: Any, **kwargs: Any) -> None:
        getattr(_stream, name)(*args, **kwargs)

    return function


def _wanted(request: PinRequest) -> dict[str, int]:
    return {"seed": derive(request.seed_of(NAME), "python random")}


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
            Point(f"random:{name}", _draw(name), "draws from Python's global stream",
                  optional=name == "binomialvariate")
            for name in _DRAWS
        ),
        Point("random:Random.seed", _seed, "seeds of Python's global stream; random.Random() without a seed",
              ("cause", "pin")),
        Point("random:seed", _through_class("seed"), "seeds of Python's global stream", ("cause", "pin")),
        Point("random:Random.setstate", _setstate, "saved states put back into Python's global stream", ("pin",)),
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
            streams={NAME: "what is drawn from Python's random module"},
        ),
    )

    def used_before(self) -> list[str]:
        at = random.getstate()[1][-1]
        drawn = 0 if at == _BLOCK else at
        by_imports = sum(each.import_draws for each in frameworks() if each.module in sys.modules)
        return ["draws from Python's random"] if drawn > by_imports else []
