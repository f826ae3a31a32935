"""Who printed what: each text that a thread of a process wrote to standard output, in a file beside the recording. Threads
and processes that print at the same time come out in any order; what each of them printed does not depend on that."""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path

import msgspec

FILE = "printed.jsonl"
OUTPUT = "stdout.txt"  # of all of them together
MOST = 16 << 20  # bytes that a process writes down


class Printed(msgspec.Struct, frozen=True, array_like=True):
    """`process` is the place of a child in its family, empty for the program itself. `number` tells threads of one name
    apart."""

    process: str
    thread: str
    number: int
    text: str

    @property
    def writer(self) -> str:
        process = f"process {self.process}, " if self.process else ""
        return f"{process}thread {self.thread or 'unknown'}"

    def line(self) -> bytes:
        return msgspec.json.encode(self) + b"\n"


def texts_by_writer(folder: Path) -> list[tuple[str, str]]:
    """What each thread of each process printed. Nothing where they did not print all of the output: a library in C, or a
    process that is not watched, printed too."""
    texts: dict[tuple[str, int], list[str]] = {}
    # Up to the first line that is not whole: its process was killed, or the disk was full.
    with contextlib.suppress(OSError, ValueError), (folder / FILE).open("rb") as file:
        for line in file:
            each = msgspec.json.decode(line, type=Printed)
            texts.setdefault((each.writer, each.number), []).append(each.text)
    found = [(writer, "".join(parts)) for (writer, _), parts in texts.items()]
    together = "".join(text for _, text in found).encode()
    return found if Counter(together) == Counter((folder / OUTPUT).read_bytes()) else []
