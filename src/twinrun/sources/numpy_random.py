"""NumPy's global stream, behind `np.random.*` and behind libraries that are given no seed."""

from __future__ import annotations

import sys
from typing import Any

from twinrun.protocol import Control, PinRequest, Point, Reading, Undo, Weight, Wrap, derive, replacement
from twinrun.protocol.point import Need
from twinrun.sources.generators import seeded_after_all
from twinrun.sources.seeding import apply_seed, read_seed, record_seeding
from twinrun.sources.stream import StreamSource
from twinrun.twin.callers import caller, thread_starter, unseen
from twinrun.twin.session import Session

NAME = "numpy-random"
_DRAWS = (
    "beta", "binomial", "bytes", "chisquare", "choice", "dirichlet", "exponential", "f", "gamma", "geometric", "gumbel",
    "hypergeometric", "laplace", "logistic", "lognormal", "logseries", "multinomial", "multivariate_normal",
    "negative_binomial", "noncentral_chisquare", "noncentral_f", "normal", "pareto", "permutation", "poisson", "power",
    "rand", "randint", "randn", "random", "random_integers", "random_sample", "ranf", "rayleigh", "sample", "shuffle",
    "standard_cauchy", "standard_exponential", "standard_gamma", "standard_normal", "standard_t", "triangular",
    "uniform", "vonmises", "wald", "weibull", "zipf",
)  # fmt: skip
_METHODS = {
    "sample": "random_sample",
    "ranf": "random_sample",
}  # that no generator has by the function's name
_MOST_BYTES = 1 << 20  # of a draw that are digested: enough to tell two draws apart


def _np_random() -> Any:
    """Not by an import statement: right after its import the package does not have it as an attribute yet."""
    return sys.modules["numpy.random"]


def _is_global(bit_generator: Any) -> bool:
    return bit_generator is _np_random().mtrand._rand._bit_generator


def _draw(name: str) -> Wrap:
    @replacement
    def draw(session: Session, original: Any, *args: Any, **kwargs: Any) -> Any:
        def real() -> Any:
            return original(*args, **kwargs)

        def frozen(number: int) -> Any:
            np_random = _np_random()
            fixed = np_random.RandomState(np_random.MT19937(number))
            return getattr(fixed, _METHODS.get(name, name))(*args, **kwargs)

        def data(result: Any) -> bytes:
            return _bytes(args[0] if name == "shuffle" and args else result)

        return session.log.value(
            NAME, "draw", caller() or thread_starter(), f"np.random.{name}", real, frozen, data
        )

    return draw


def _bytes(value: Any) -> bytes:
    import numpy as np

    array = np.asarray(value)
    if array.dtype.kind == "O" or array.nbytes > _MOST_BYTES:
        return repr(array.reshape(-1)[:256].tolist()).encode("utf-8", "replace") + str(array.shape).encode()
    return array.tobytes()


@replacement
def _legacy_seeding(session: Session, original: Any, self: Any, seed: Any) -> None:
    """Patch seeding on the class, so that seeding the global stream is seen however it is done."""

    def set_seed(value: Any) -> None:
        with unseen():  # the entropy that it takes is not a generator's
            original(self, value)

    def state() -> bytes:
        return bytes(self.state["state"]["key"].tobytes())

    if _is_global(self):
        record_seeding(session, NAME, "np.random.seed", caller(), seed, set_seed, state)
        return
    original(self, seed)
    if seed is not None:
        seeded_after_all(session)


def _watch_state(session: Session, original: Any) -> property:
    def set_state(self: Any, value: Any) -> None:
        original.__set__(self, value)
        if _is_global(self):
            session.pins.seeded(NAME, None, restored=True)

    return property(original.__get__, set_state)


def _stand_in(session: Session, stream: Any) -> Any:
    """Libraries that are given no seed (scikit-learn, SciPy) take the object behind `np.random.*` and call its methods.
    This one is of the same class and draws from the very same stream, through the functions that are watched."""
    np_random = _np_random()

    def __reduce__(self: Any) -> Any:  # noqa: N807
        return stream.__reduce__()

    members: dict[str, Any] = {
        "__reduce__": __reduce__,
        "__module__": "numpy.random.mtrand",
        "_bit_generator": property(lambda self: stream._bit_generator),
    }
    for name in dir(stream):
        if not name.startswith("_") and callable(getattr(stream, name)):
            members[name] = staticmethod(getattr(np_random, name, getattr(stream, name)))
    # np.random.seed() looks the stream up by its name, and would come back to itself.
    members["seed"] = staticmethod(stream.seed)
    stands_in = type("RandomState", (np_random.RandomState,), members)(stream._bit_generator)
    _streams[id(stands_in)] = stream
    return stands_in


_streams: dict[int, Any] = {}  # the stream behind what stands in for it


@replacement
def _set_bit_generator(session: Session, original: Any, bitgen: Any) -> None:
    """`np.random.set_bit_generator` means the stream itself, and not what stands in for it."""
    mtrand = _np_random().mtrand
    stands_in = mtrand._rand
    mtrand._rand = _streams.get(id(stands_in), stands_in)
    try:
        original(bitgen)
    finally:
        mtrand._rand = stands_in
    session.pins.seeded(NAME, None, restored=True)


def _wanted(request: PinRequest) -> dict[str, int]:
    return {"seed": derive(request.seed_of(NAME), "numpy random")}


def _apply(request: PinRequest) -> Undo:
    np_random = _np_random()
    before = np_random.get_state(legacy=False)
    return apply_seed(NAME, _wanted(request)["seed"], np_random.seed, lambda: np_random.set_state(before))


def _read(request: PinRequest | None) -> Reading:
    return read_seed(NAME, "np.random.seed", _is_fresh)


def _is_fresh(seed: Any) -> bool:
    np_random = _np_random()
    state = np_random.get_state(legacy=False)
    fresh = np_random.MT19937(0)
    with unseen():
        fresh._legacy_seeding(seed)
    if state["bit_generator"] != "MT19937":
        return False
    now, then = state["state"], fresh.state["state"]
    return bool(now["pos"] == then["pos"] and (now["key"] == then["key"]).all())


def _point(place: str, wrap: Wrap, reason: str, *needed_for: Need) -> Point:
    return Point(place, wrap, reason, needed_for, "NumPy 1.26 to 2.4", after="numpy.random")


class NumpyRandom(StreamSource):
    name = stream = NAME
    title = "NumPy's global stream"
    codes = ("TW102", "TW106", "TW204", "TW205", "TW403")
    actions = ("draw", "seed", "reseed")
    on_host = True
    weight = Weight(init=8, batch=9, later=7)
    points = (
        *(_point(f"numpy.random:{name}", _draw(name), "draws from NumPy's global stream", "cause") for name in _DRAWS),
        _point("numpy.random.mtrand:_rand", _stand_in, "draws of libraries from NumPy's global stream", "cause"),
        _point("numpy.random._mt19937:MT19937._legacy_seeding", _legacy_seeding, "seeds of NumPy's global stream", "cause", "pin"),
        _point("numpy.random._mt19937:MT19937.state", _watch_state, "saved states put back into NumPy's global stream", "pin"),
        _point("numpy.random:set_bit_generator", _set_bit_generator, "another generator behind np.random.*", "cause", "pin"),
    )  # fmt: skip
    controls = (
        Control(
            name=NAME,
            protects="draws from NumPy's global stream (np.random.rand, shuffle, permutation, …)",
            moment="before a model or dataset is built",
            how="np.random.seed(42), or keras.utils.set_random_seed(42), right after the imports",
            wanted=_wanted,
            apply=_apply,
            read=_read,
            module="numpy.random",
            streams={NAME: "what is drawn from NumPy's global stream"},
        ),
    )

    def used_before(self) -> list[str]:
        if "numpy.random" not in sys.modules:
            return []
        state = _np_random().get_state(legacy=False)
        # The state that NumPy makes at its import stands at 623, a newly seeded one at 624.
        drawn = state["bit_generator"] == "MT19937" and state["state"]["pos"] not in (623, 624)
        return ["draws from NumPy's global stream"] if drawn else []
