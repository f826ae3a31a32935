"""Directory listings, whose order is the file system's: recorded, sorted where they are frozen, and reversed for a
variation, as another file system might give them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import xxhash

from twinrun.protocol import (
    Event,
    Point,
    SecondLook,
    Source,
    Suspect,
    Variation,
    Vary,
    Weight,
    inside,
    replacement,
)
from twinrun.protocol.evidence import Evidence, differs, is_direct, one
from twinrun.twin.callers import Caller, caller
from twinrun.twin.session import Session

NAME = "file-listing"
# Through these the user's own line lists a directory with os.scandir.
_SCANS = {"": "os.scandir", "os": "os.walk", "glob": "glob", "pathlib": "Path.iterdir", "fnmatch": "os.scandir"}  # fmt: skip
# importlib.metadata looks for installed packages in every folder on the path, the program's own too. What else lies
# there does not matter to it.
_PACKAGE_SEARCH = "importlib"


class Listed(msgspec.Struct, frozen=True):
    """A digest of the names that does not depend on their order: another order and other files are two causes."""

    members: str = ""


def _is_reversed(session: Session) -> bool:
    if session.varied.get("workerfiles") == "reversed":  # each machine has a file system of its own
        worker = session.recorder.family.worker if session.recorder is not None else None
        return worker is not None and worker > 0
    return session.varied.get("fileorder") == "reversed"


def ordered(
    session: Session, who: Caller | None, path: Any, items: list[Any], call: str, name: Callable[[Any], Any]
) -> list[Any]:
    """What the program gets of a listing, recorded. `path`: the folder, where the listing has all that is there."""
    if _is_reversed(session):
        listed = items
        items = sorted(listed, key=name, reverse=True)
        if items == listed:  # a file system may list the last name first, as the other twin then has it
            items.reverse()
    if session.log.frozen(NAME, "list", who) is not None:
        items = sorted(items, key=name)
    names = [name(item) for item in items]
    if who is not None and session.inputs is not None:
        session.inputs.record_listing(path, names)
    detail = Listed(xxhash.xxh3_64_hexdigest(_encoded(sorted(names))))
    session.log.record(NAME, "list", who, call, _encoded(names), detail=detail)
    return items


def _encoded(names: list[Any]) -> bytes:
    return repr(names).encode("utf-8", "replace")


@replacement
def _listdir(session: Session, original: Any, path: Any = ".") -> list[Any]:
    who, items = caller(), original(path)
    if who is not None and who.near == _PACKAGE_SEARCH:
        return items  # type: ignore[no-any-return]
    return ordered(session, who, path, items, "os.listdir", lambda name: name)


class _Scan:
    """What os.scandir returns, read ahead so that its order is known."""

    def __init__(self, entries: list[Any]) -> None:
        self._left = iter(entries)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._left)

    def __enter__(self) -> _Scan:
        return self

    def close(self, *_: object) -> None:
        self._left = iter(())

    __exit__ = close


@replacement
def _scandir(session: Session, original: Any, path: Any = ".") -> Any:
    who = caller()
    call = _SCANS.get(who.via, "") if who is not None else ""
    if not call and not _is_reversed(session):
        return original(path)
    with original(path) as entries:
        found = list(entries)
    return _Scan(ordered(session, who if call else None, path, found, call, lambda entry: entry.name))


class FileListing(Source):
    name = NAME
    codes = ("TW302", "TW304", "TW602")
    actions = ("list",)
    weight = Weight(init=4, batch=9, later=3)
    # glob, pathlib and os.walk are all built on these two.
    points = (
        Point("os:listdir", _listdir, "directory listings"),
        Point("os:scandir", _scandir, "directory listings of os.walk, glob and pathlib"),
    )
    variations = (
        Variation(
            "fileorder",
            "the order in which directories are listed",
            inside("as is", "reversed"),
            "TW302",
            "the order in which a directory is listed reaches training",
        ),
        Variation(
            "workerfiles",
            "the order in which all workers of a cluster but the first list directories",
            inside("as is", "reversed"),
            "TW602",
            "which data a worker reads depends on the order in which it lists a directory",
        ),
    )

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        for pair in evidence.of(self.name, "list"):
            a, b = pair
            if a is None or b is None or not differs(pair):
                continue
            if a.detail_as(Listed) == b.detail_as(Listed):
                yield self._unordered(a)
            else:
                message = f"{a.call} found different files in each run"
                yield self.suspect([a], message, code="TW304", freeze=())

    def reached_by(self, variation: str, evidence: Evidence) -> Iterator[Suspect]:
        """The program's own listings before those of a library that is imported or called."""
        listed = [one(pair) for pair in evidence.of(self.name, "list") if differs(pair)]
        own_first = sorted(listed, key=lambda event: (bool(event.context), not is_direct(event)))
        return map(self._unordered, own_first)

    def cluster_look(self, events: Iterable[Event]) -> SecondLook | None:
        for event in self.events_of(events, "list"):
            if is_direct(event) and not event.context:
                why = f"{event.call} lists a directory at {Path(event.file).name}:{event.line}"
                how = "with the files of all workers but the first in another order"
                return SecondLook(why, Vary("workerfiles"), how)
        return None

    def _unordered(self, event: Event) -> Suspect:
        return self.suspect(
            [event],
            f"{event.call} gives the files in an order that is not fixed",
            notes=(f"{event.call} is not sorted",),
            experiment="with this listing sorted",
        )
