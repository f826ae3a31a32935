"""Results taken in the order in which they get done: `as_completed`, `wait`, a pool's `imap_unordered` and callbacks.
Noted, and for an experiment taken in the order in which the work was given out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

from twinrun.twin.event_log import Book, caller
from twinrun.twin.imports import when_imported

KIND = "completion"
_OWN = ("", "concurrent", "multiprocessing")


def install(book: Book) -> None:
    when_imported("concurrent.futures._base", lambda module: _futures(book, module))
    when_imported("multiprocessing.pool", lambda module: _pools(book, module))


def _futures(book: Book, module: ModuleType) -> None:
    as_completed, wait = module.as_completed, module.wait
    if book.holds(KIND):
        _number(module.Future)

    def noted_as_completed(fs: Iterable[Any], timeout: float | None = None) -> Iterator[Any]:
        who = caller()
        futures = list(fs)
        if who is not None and who.via in _OWN:
            book.note(KIND, who, "as_completed")
        if book.steady(KIND, who) is None:
            return iter(as_completed(futures, timeout))
        return _in_order(futures, timeout)

    def _in_order(futures: list[Any], timeout: float | None) -> Iterator[Any]:
        for future in sorted(futures, key=_given_out):
            wait([future], timeout)
            yield future

    def noted_wait(
        fs: Iterable[Any], timeout: float | None = None, return_when: str = "ALL_COMPLETED"
    ) -> Any:
        who = caller()
        futures = list(fs)
        if return_when == "ALL_COMPLETED":
            return wait(futures, timeout, return_when)
        if who is not None and who.via in _OWN:
            book.note(KIND, who, f"wait({return_when})")
        if book.steady(KIND, who) is None or not futures:
            return wait(futures, timeout, return_when)
        first = min(futures, key=_given_out)
        wait([first], timeout)
        return module.DoneAndNotDoneFutures({first}, {f for f in futures if f is not first})

    import concurrent.futures

    for name, original, noted in (
        ("as_completed", as_completed, noted_as_completed),
        ("wait", wait, noted_wait),
    ):
        noted.__name__ = noted.__qualname__ = name
        noted.__module__, noted.__doc__ = original.__module__, original.__doc__
        setattr(module, name, noted)
        if hasattr(concurrent.futures, name):
            setattr(concurrent.futures, name, noted)


def _number(future: Any) -> None:
    """Every future knows which it was."""
    original, numbers = future.__init__, itertools.count()

    def __init__(self: Any) -> None:  # noqa: N807
        original(self)
        self._twinrun_number = next(numbers)

    future.__init__ = __init__


def _given_out(future: Any) -> int:
    return int(getattr(future, "_twinrun_number", 0))


def _pools(book: Book, module: ModuleType) -> None:
    pool: Any = module.Pool
    unordered, apply_async = pool.imap_unordered, pool.apply_async

    def imap_unordered(self: Any, func: Callable[..., Any], iterable: Any, chunksize: int = 1) -> Any:
        who = caller()
        if who is not None and who.via in _OWN:
            book.note(KIND, who, "Pool.imap_unordered")
        if book.steady(KIND, who) is not None:
            return self.imap(func, iterable, chunksize)
        return unordered(self, func, iterable, chunksize)

    def noted_apply_async(self: Any, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        who = caller()
        called_back = kwargs.get("callback") is not None or len(args) > 2
        if called_back and who is not None and who.via in _OWN:
            book.note(KIND, who, "Pool.apply_async(callback=…)")
        result = apply_async(self, func, *args, **kwargs)
        if called_back and book.steady(KIND, who) is not None:
            result.wait()
        return result

    noted_apply_async.__name__ = "apply_async"
    pool.imap_unordered, pool.apply_async = imap_unordered, noted_apply_async
