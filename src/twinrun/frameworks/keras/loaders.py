"""Keras' loaders in the ledger: a PyDataset with several workers, which an experiment can run with one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from twinrun.frameworks.tensorflow.patches import patch
from twinrun.twin.callers import is_users
from twinrun.twin.event_log import Book, Caller, caller


def install(book: Book) -> None:
    # Random layers and keras.random draw from the state of a seed generator: in a parallel map they race for it.
    patch("keras.src.random.seed_generator:SeedGenerator.next", _seed_draw(book))
    patch("keras.src.trainers.data_adapters.py_dataset_adapter:PyDatasetAdapter.__init__", _adapter(book))


def _seed_draw(book: Book) -> Callable[..., Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def next(self: Any, ordered: bool = True) -> Any:
            book.note("keras-draw", caller(), "a Keras seed generator")
            return original(self, ordered)

        return next

    return wrap


def _adapter(book: Book) -> Callable[..., Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(self: Any, x: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            if getattr(x, "workers", 1) > 1 or getattr(x, "use_multiprocessing", False):
                who = _loader_site(x) or caller()
                if book.steady("loader", who) is not None:
                    x._workers, x._use_multiprocessing = 1, False
                book.note("loader", who, type(x).__name__, seeded=str(getattr(x, "workers", None)))
            original(self, x, *args, **kwargs)

        return __init__

    return wrap


def _loader_site(loader: Any) -> Caller | None:
    """The user's `__getitem__`, where the workers meet."""
    method = getattr(type(loader), "__getitem__", None)
    code = getattr(inspect.unwrap(method), "__code__", None) if method else None
    if code is None or not is_users(code.co_filename):
        return None
    return Caller(code.co_filename, code.co_firstlineno, code.co_name, "", "pydataset")
