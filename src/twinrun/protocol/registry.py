"""The registry of sources and frameworks: those that come with Twinrun, and those of other packages, found through
the entry points `twinrun.sources` and `twinrun.frameworks`. Each is loaded by name, so that nothing here depends on them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from twinrun.errors import BrokenPlugin, UsageError
from twinrun.protocol.control import Control
from twinrun.protocol.facts import Failure
from twinrun.protocol.pin import PinRequest
from twinrun.protocol.source import Source
from twinrun.protocol.variation import Variation

if TYPE_CHECKING:
    from twinrun.frameworks.protocol import Framework

# In the order in which controls are applied and suspects of equal rank are tried.
SOURCES = (
    "twinrun.sources.numpy_random:NumpyRandom",
    "twinrun.sources.python_random:PythonRandom",
    "twinrun.sources.generators:Generators",
    "twinrun.sources.entropy:Entropy",
    "twinrun.sources.names:Names",
    "twinrun.sources.clock:Clock",
    "twinrun.sources.input_files:InputFiles",
    "twinrun.sources.file_listing:FileListing",
    "twinrun.sources.hash_order:HashOrder",
    "twinrun.sources.addresses:Addresses",
    "twinrun.sources.completion_order:CompletionOrder",
    "twinrun.sources.threads:Threads",
    "twinrun.sources.ops:Ops",
    "twinrun.sources.device:Device",
)
FRAMEWORKS = (
    "twinrun.frameworks.keras:Keras",
    "twinrun.frameworks.tf_keras:TfKeras",
    "twinrun.frameworks.tensorflow:TensorFlow",
)


@lru_cache(maxsize=1)
def frameworks() -> tuple[Framework, ...]:
    return tuple(make() for make in _found("twinrun.frameworks", FRAMEWORKS))


@lru_cache(maxsize=1)
def sources() -> tuple[Source, ...]:
    """Every source, each once: the framework-free ones, those of other packages, and those of every framework."""
    from twinrun.findings.catalogue import register

    own = [make() for make in _found("twinrun.sources", SOURCES)]
    of_frameworks = [source for framework in frameworks() for source in framework.sources]
    known: dict[str, Source] = {}
    for source in (*own, *of_frameworks):
        if source.name in known and type(known[source.name]) is not type(source):
            raise BrokenPlugin(f"two sources are called {source.name!r}", hint="rename one of them")
        known.setdefault(source.name, source)
        for entry in source.entries:
            register(entry)
    return tuple(known.values())


def lost_peer(failure: Failure) -> bool:
    """Whether a worker failed for want of another."""
    return any(not set(framework.peer_errors).isdisjoint(failure.kinds) for framework in frameworks())


def mismatched(failure: Failure) -> bool:
    """Whether a worker failed because others were at another operation of their common training."""
    patterns = (framework.mismatch for framework in frameworks())
    return any(pattern is not None and pattern.search(failure.text) is not None for pattern in patterns)


def source(name: str) -> Source:
    for each in sources():
        if each.name == name:
            return each
    raise UsageError.unknown("source", name, [each.name for each in sources()])


def controls() -> tuple[Control, ...]:
    return tuple(control for each in sources() for control in each.controls)


def streams() -> dict[str, str]:
    """Every random stream that has a seed of its own while pinned, and what it moves."""
    return {name: moves for control in controls() for name, moves in control.streams.items()}


def parse_pin(text: str) -> PinRequest:
    """`--pin`'s value, with the names of controls and the codes checked."""
    request = PinRequest.parse(text)
    known = [control.name for control in controls()]
    for name in (*(request.only or ()), *request.leave_out):
        if name not in known:
            raise UsageError(f"unknown control {name!r}", hint=f"the controls are {', '.join(known)}")
    for name, _ in request.streams:
        if name not in streams():
            raise UsageError(f"unknown stream {name!r}", hint=f"the streams are {', '.join(streams())}")
    refusals = {control.refusal: control.name for control in controls() if control.refusal}
    for code in request.allow:
        if code not in refusals:
            allowed = "; ".join(f"allow={each} continues without {refusals[each]}" for each in refusals)
            raise UsageError(
                f"--pin cannot allow {code!r}", hint=f"{allowed} if the program cannot run with it"
            )
    return request


def droppable(request: PinRequest) -> list[Control]:
    """The controls that the request asks for, and allows to be left off where a program cannot run with them."""
    return [each for each in controls() if each.refusal in request.allow and request.wants(each.name)]


def variations() -> dict[str, tuple[Source, Variation]]:
    """Every variation by name, with the source it belongs to."""
    return {variation.name: (each, variation) for each in sources() for variation in each.variations}


def _found(group: str, built_in: tuple[str, ...]) -> Iterator[Any]:
    for value in built_in:
        yield EntryPoint("", value, group).load()
    for point in entry_points(group=group):
        if point.value not in built_in:
            try:
                yield point.load()
            except Exception as problem:
                raise BrokenPlugin(
                    f"the entry point {point.name!r} of {group} cannot be loaded: {type(problem).__name__}: {problem}",
                    hint="repair or uninstall the package that brings it",
                ) from None
