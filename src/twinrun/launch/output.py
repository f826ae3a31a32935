"""What a program prints, as far as it is kept: the beginning of it, the end of it, and in between a mark with a digest of
all that is left out. However much a program prints, it takes no more room than that."""

from __future__ import annotations

import contextlib
import os
import re
import select
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import xxhash

import twinrun
from twinrun.comparison.delivered import MOST_OUTPUT
from twinrun.interrupt import held_back
from twinrun.recording.folder import recordings_below
from twinrun.recording.output import ERRORS
from twinrun.recording.printed import OUTPUT

KEPT = 2_000_000  # bytes of the beginning and of the end that stay when all is over
Printed = Callable[[str, bytes], None]  # is told what is printed, with the name of the stream's file
_PIPE = 1 << 20  # the most that a pipe holds
_MORE = b"\n[twinrun: more was printed than this]\n"
_LONGEST_MARK = 200
_MARK = re.compile(rb"\n\[twinrun: (\d+) bytes are left out here[^\]\n]*\]\n")
_FRAME = re.compile(r'(\s*)File "(.+)", line \d+, in ')
_OURS = f"{Path(twinrun.__file__).parent}{os.sep}"


class Output:
    """Takes in what a process prints, in the background. Equal files mean equal outputs: the mark tells what is not in
    them."""

    def __init__(self, folder: Path, printed: Printed = lambda _, __: None) -> None:
        # Standard output is compared when the twins have ended, and cut to its final length after that.
        self.streams = (
            Stream(folder / OUTPUT, MOST_OUTPUT, printed=printed),
            Stream(folder / ERRORS, KEPT, printed=printed),
        )
        self._lock = threading.Lock()
        self._waiting, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._listen, name="twinrun-output", daemon=True)

    @property
    def pipe(self) -> tuple[int, int]:
        """Device and inode of the one for standard output."""
        about = os.fstat(self.streams[0].target)
        return about.st_dev, about.st_ino

    def start(self) -> None:
        """The process has its ends of the pipes."""
        with held_back():  # half started, it could not be closed
            for stream in self.streams:
                stream.handed_over()
            self._thread.start()

    def _listen(self) -> None:
        poll = select.poll()
        poll.register(self._waiting)
        for stream in self.streams:
            poll.register(stream.source, select.POLLIN)
        left = {stream.source for stream in self.streams}
        while left:
            ready = {source for source, _ in poll.poll()}
            if self._waiting in ready:
                return
            self.catch_up()
            for stream in self.streams:
                if stream.ended and stream.source in left:
                    left.discard(stream.source)
                    poll.unregister(stream.source)

    def catch_up(self) -> None:
        """Take in what has been printed by now."""
        with self._lock:
            for stream in self.streams:
                stream.read()

    def last(self, count: int) -> list[bytes]:
        """The end of standard error, and of standard output."""
        self.catch_up()
        with self._lock:
            return [stream.last(count) for stream in reversed(self.streams)]

    @property
    def problem(self) -> str | None:
        """Why something that was printed is lost."""
        return next((stream.problem for stream in self.streams if stream.problem), None)

    def close(self) -> None:
        """Call when the process has ended. What others hold the ends of the pipes for is not waited for."""
        self.catch_up()
        os.close(self._wake)
        if self._thread.ident is not None:
            self._thread.join()
        else:  # there was no process to give the pipes to
            for stream in self.streams:
                stream.handed_over()
        os.close(self._waiting)
        for stream in self.streams:
            stream.close()


class Stream:
    """One stream, and the file that it is kept in."""

    def __init__(
        self, path: Path, beginning: int, end: int = KEPT, printed: Printed = lambda _, __: None
    ) -> None:
        self.path = path
        self._printed = printed
        self.problem: str | None = None
        self.ended = False
        self._file = path.open("wb", buffering=0)
        self._room, self._most = beginning, end
        self._end = bytearray()
        self._left_out = 0
        self._digest = xxhash.xxh3_128()
        self.source, self.target = os.pipe()
        os.set_blocking(self.source, False)

    def handed_over(self) -> None:
        os.close(self.target)

    def read(self) -> None:
        """What is there; a process that prints for ever is not followed for ever."""
        taken = 0
        while not self.ended and taken <= _PIPE:
            try:
                data = os.read(self.source, 1 << 16)
            except BlockingIOError:
                return
            self.ended = not data
            taken += len(data)
            self._printed(self.path.name, data)
            self.write(data)

    def write(self, data: bytes) -> None:
        first, rest = data[: self._room], data[self._room :]
        if first:
            self._room -= len(first)
            self._save(first)
        if rest:
            if not self._end and not self._left_out:
                self._save(_MORE)  # for who reads it now; the mark takes its place
            self._end += rest
            if len(self._end) > 2 * self._most:
                self._leave_out()

    def _leave_out(self) -> None:
        """All but the end."""
        count = max(0, len(self._end) - self._most)
        self._digest.update(self._end[:count])
        self._left_out += count
        del self._end[:count]

    def _save(self, data: bytes) -> None:
        """A failure to write must not keep the process waiting: the rest is read and dropped."""
        left = memoryview(data)
        if self.problem is None:
            try:
                while left:  # where there is little room, less is written than was asked for
                    left = left[self._file.write(left) :]
            except OSError as problem:
                self.problem = f"cannot write {self.path}: {problem.strerror}"

    def close(self) -> None:
        self.ended = True
        os.close(self.source)
        self._leave_out()
        if self._end and self.problem is None:
            self._file.truncate(self._file.seek(-len(_MORE), os.SEEK_END))
            if self._left_out:
                self._save(_mark(self._left_out, f", xxh3 {self._digest.hexdigest()}"))
            self._save(bytes(self._end))
        self._end.clear()
        self._file.close()

    def last(self, count: int) -> bytes:
        """The end of what was printed so far."""
        with self.path.open("rb") as file:
            file.seek(-min(count + len(_MORE), file.seek(0, os.SEEK_END)), os.SEEK_END)
            return (file.read().removesuffix(_MORE) + self._end)[-count:]


def _mark(count: int, digest: str = "") -> bytes:
    return f"\n[twinrun: {count} bytes are left out here{digest}]\n".encode()


def shorten_outputs(folder: Path) -> None:
    """Cut the outputs of all recordings below a folder to their final length."""
    for recording in recordings_below(folder):
        with contextlib.suppress(OSError):
            _shorten(recording / OUTPUT)


def _shorten(path: Path) -> None:
    size = path.stat().st_size
    if size <= 2 * KEPT + _LONGEST_MARK:
        return
    with path.open("r+b") as file:
        file.seek(MOST_OUTPUT)
        known = _MARK.match(file.read(_LONGEST_MARK))
        before = int(known[1]) - len(known[0]) if known else 0
        file.seek(-KEPT, os.SEEK_END)
        end = file.read()
        file.truncate(KEPT)
        file.seek(KEPT)
        file.write(_mark(size - 2 * KEPT + before) + end)


def without_our_frames(lines: Iterable[str]) -> Iterator[str]:
    """A traceback as it would be if the program ran by itself: what it calls goes through wrappers of ours."""
    skipped = None  # the indentation of the frame whose lines are left out
    for line in lines:
        if (frame := _FRAME.match(line)) is not None:
            skipped = len(frame[1]) if frame[2].startswith(_OURS) else None
        elif skipped is not None and len(line) - len(line.lstrip()) <= skipped:
            skipped = None
        if skipped is None:
            yield line
