"""Writes down which thread of which process prints what. Nothing of it is needed for a verdict: where it cannot be done,
or is not complete, lines in another order stay a difference."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinrun.protocol.point import Point
from twinrun.recording.printed import FILE, MOST, Printed

if TYPE_CHECKING:
    from twinrun.twin.family import Family
    from twinrun.twin.recorder import Recorder
    from twinrun.twin.session import Session


_LONGEST = 8192  # characters of a line that are kept before they are written down


def follow_output(recorder: Recorder) -> None:
    folder = Path(recorder.spec.folder)
    with contextlib.suppress(OSError):
        about = os.fstat(1)
        if (about.st_dev, about.st_ino) == recorder.spec.output:  # and no pipe that the program reads
            notes = _Notes(folder / FILE, recorder.family)
            recorder.at_finish.append(notes.flush)
            recorder.after_fork.append(notes.forget)
            reason = "which thread or process prints a line"
            point = Point("sys:stdout.write", notes.wrap, reason, ("verdict",), optional=True)
            recorder.session.patches.install("output", [point])


@dataclass
class _Writer:
    """A thread that prints, and what it has printed of a line."""

    thread: str
    number: int
    line: list[str] = field(default_factory=list)
    length: int = 0


class _Notes:
    """A line at a time, each thread for itself, so that none waits for another."""

    def __init__(self, file: Path, family: Family) -> None:
        self._family = family
        self._log = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._known = os.fstat(self._log)
        self._left = MOST
        self.forget()

    def forget(self) -> None:
        """In a forked child: what others were about to print is not its own."""
        self._writers: list[_Writer] = []
        self._numbers = itertools.count(1)
        self._own = threading.local()  # `writer`: this thread

    def wrap(self, session: Session, original: Any) -> Any:
        def write(text: str) -> Any:
            written = original(text)
            if self._left > 0:
                self._note(self._writer(), text)
            return written

        return write

    def flush(self) -> None:
        """The program ends: lines that are not complete will not be."""
        for writer in self._writers:
            if writer.line and self._left > 0:
                self._write(writer)

    def _writer(self) -> _Writer:
        writer: _Writer | None = getattr(self._own, "writer", None)
        if writer is None:
            # Not current_thread(), which would make a thread of Python's out of one that is not.
            thread = getattr(threading, "_active", {}).get(threading.get_ident())
            writer = self._own.writer = _Writer(thread.name if thread else "", next(self._numbers))
            self._writers.append(writer)
        return writer

    def _note(self, writer: _Writer, text: str) -> None:
        writer.line.append(text)
        writer.length += len(text)
        if "\n" in text or writer.length > _LONGEST:
            self._write(writer)

    def _write(self, writer: _Writer) -> None:
        text, writer.line, writer.length = "".join(writer.line), [], 0
        try:
            line = Printed(self._family.identity, writer.thread, writer.number, text).line()
            self._left -= len(line)
            if not os.path.samestat(os.fstat(self._log), self._known):
                raise OSError("the program has closed this file, and opened one of its own")
            os.write(self._log, line)
        except Exception:  # or a full disk, text that is no text, an interpreter that is shutting down
            self._left = 0
