"""A process that the program started. What it trains goes to a recording of its own, in a folder below that of the twin,
and is compared when the twins have ended."""

from __future__ import annotations

from pathlib import Path

import msgspec

FOLDER = "children"  # in the folder of a twin
FILE = "child.json"
END = "end.json"  # what a child would have told a parent that listens
SO_FAR = "so-far.json"  # what must be known of a child that is ended before it can say so
TROUBLE = "trouble.json"
SIGNALLED = "signalled.txt"  # the processes that the program itself sent a signal to


def worker_name(number: int) -> str:
    return f"worker {number}"


class ChildProcess(msgspec.Struct, frozen=True):
    """`identity` is its place in the family, the same in every run: `2.1` is the first child of the second child."""

    identity: str
    label: str  # its name or its command
    pid: int
    pool: bool = False  # takes its work from a queue, which it shares with others
    unwatched: str = ""  # why it could not be recorded
    worker: int | None = None  # its number, where it is one of a cluster

    def write(self, folder: Path) -> None:
        (folder / FILE).write_bytes(msgspec.json.encode(self))
