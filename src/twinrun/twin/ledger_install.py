"""The ledger: inside a twin, who drew randomness and who looked at the outside world, by call site in the user's
own code. It is also the means of experiment: a site can be made steady, so that it gives the same in every run."""

from __future__ import annotations

from twinrun.twin.event_log import Book
from twinrun.twin.recorder import Watch


def install(watch: Watch) -> None:
    from twinrun.sources import addresses, clock, names, threads
    from twinrun.sources import completion_order as completion
    from twinrun.sources import entropy as outside
    from twinrun.sources import input_files as inputs
    from twinrun.sources import numpy_random as numpy_streams
    from twinrun.sources import python_random as python_stream
    from twinrun.twin.imports import when_imported

    book = open_book(watch)
    python_stream.install(book)
    outside.install(book)
    clock.install(book)
    inputs.install(book)
    threads.install(book)
    names.install(book)
    completion.install(book)
    if watch.spec.experiment.get("addresses"):
        addresses.hold_still()
    when_imported("numpy.random", lambda module: numpy_streams.install(book, module))
    watch.answers["ledger"] = lambda _: book.as_json()


_books: dict[int, Book] = {}


def open_book(watch: Watch) -> Book:
    """The one book of this twin."""
    return _books.setdefault(id(watch), Book(watch, watch.spec.experiment.get("steady", [])))
