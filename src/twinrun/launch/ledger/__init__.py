"""The ledger: inside a twin, who drew randomness and who looked at the outside world, by call site in the user's
own code. It is also the means of experiment: a site can be made steady, so that it gives the same in every run."""

from __future__ import annotations

from twinrun.launch.ledger.book import Book
from twinrun.launch.watch import Watch


def install(watch: Watch) -> None:
    from twinrun.launch.hooks import when_imported
    from twinrun.launch.ledger import (
        addresses,
        clock,
        completion,
        inputs,
        names,
        numpy_streams,
        outside,
        python_stream,
        threads,
    )

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
