"""Keras' loaders: the workers of a PyDataset, or of a Sequence of tf_keras, which race for one random stream."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from twinrun.frameworks.packages import KERAS, TF_KERAS
from twinrun.protocol.event import Event, relative
from twinrun.protocol.evidence import Evidence, one
from twinrun.protocol.intervention import Freeze, Stress
from twinrun.protocol.source import SecondLook, Source
from twinrun.protocol.suspect import Suspect, Weight
from twinrun.twin.callers import Caller, caller, conventions, is_users

# Files by which Keras and tf_keras call the user's loaders and generators.
_CONTEXTS = {
    "trainers/data_adapters/py_dataset_adapter": "loader",
    "src/utils/data_utils": "loader",
    "trainers/data_adapters/generator_data_adapter": "generator",
}


class Workers(msgspec.Struct, frozen=True):
    count: int = 1


def _adapter(session: Any, original: Any) -> Any:
    def __init__(self: Any, x: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        workers, processes = int(getattr(x, "workers", 1)), getattr(x, "use_multiprocessing", False)
        if _is_frozen(session, x, workers, processes):
            x._workers, x._use_multiprocessing = 1, False
        original(self, x, *args, **kwargs)

    return __init__


def _tf_keras_adapter(session: Any, original: Any) -> Any:
    """Workers of a Sequence are an argument of `fit`, not of the loader itself."""

    def __init__(  # noqa: N807
        self: Any, x: Any, *args: Any, workers: int = 1, use_multiprocessing: bool = False, **kwargs: Any
    ) -> None:
        if _is_frozen(session, x, workers, use_multiprocessing):
            workers, use_multiprocessing = 1, False
        original(self, x, *args, workers=workers, use_multiprocessing=use_multiprocessing, **kwargs)

    return __init__


def _is_frozen(session: Any, loader: Any, workers: int, processes: bool) -> bool:
    """Records a loader with several workers. True: it is to run with one."""
    if workers < 2 and not processes:
        return False
    who = _user_method(loader) or caller(3)
    session.log.record("loaders", "start", who, type(loader).__name__, detail=Workers(workers))
    return session.log.frozen("loaders", "start", who) is not None


def _user_method(loader: Any) -> Caller | None:
    """The user's `__getitem__`, which every worker runs."""
    method = getattr(type(loader), "__getitem__", None)
    code = getattr(inspect.unwrap(method), "__code__", None) if method else None
    if code is None or not is_users(code.co_filename):
        return None
    return Caller(code.co_filename, code.co_firstlineno, code.co_name, context="loader")


class Loaders(Source):
    name = "loaders"
    codes = ("TW205",)
    actions = ("start",)
    weight = Weight(init=1, batch=12, later=3)
    points = (
        KERAS.point(
            "trainers.data_adapters.py_dataset_adapter:PyDatasetAdapter.__init__",
            _adapter,
            "to see loaders with several workers",
        ),
        TF_KERAS.point(
            "engine.data_adapter:KerasSequenceAdapter.__init__",
            _tf_keras_adapter,
            "to see loaders with several workers",
        ),
    )

    def start(self, session: Any) -> None:
        conventions.contexts.update(_CONTEXTS)

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        for pair in evidence.of(self.name, "start"):
            loader = one(pair)
            file, line, drawn = _where_drawn(evidence, loader)
            notes = [f"{drawn} at {relative(file)}:{line}"] if drawn else []
            notes.append(f"every worker runs __getitem__ at {loader.place}")
            yield Suspect(
                source=self.name,
                code="TW205",
                message=f"{loader.detail_as(Workers).count} workers of {loader.call} race for one random stream",
                freeze=(Freeze.at(loader),),
                file=file,
                line=line,
                weight=self.weight,
                notes=tuple(notes),
                experiment="with one worker",
            )

    def second_look(self, events: Iterable[Event]) -> SecondLook | None:
        for event in self.events_of(events):
            where = f"{Path(event.file).name}:{event.line}"
            return SecondLook(f"{event.call} runs in several threads ({where})", Stress())
        return None


def _where_drawn(evidence: Evidence, loader: Event) -> tuple[str, int, str]:
    """Where the workers draw: a global stream has events, a generator object is found in the source only. tf_keras
    takes a first element before it starts the workers, so that the draw itself may not look like one of theirs."""
    for source in ("numpy-random", "python-random"):
        for pair in evidence.of(source, "draw"):
            event = one(pair)
            in_loader = (event.file, event.function) == (loader.file, loader.function)
            if event.context == "loader" or in_loader:
                return event.file, event.line, ""
    for file, line, text in evidence.code.draws_of_class(loader.file, loader.line):
        return file, line, f"{text} draws from a generator that they share,"
    return loader.file, loader.line, ""
