"""Text on its way to a terminal. Names come from programs, recordings and project files: control characters in them are
shown, never sent, and none of them can begin a line of its own. Nothing else writes to stdout or stderr."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterable
from typing import NamedTuple

_COLOURS = {"repeats": "32", "diverges": "31", "undecided": "33", "dim": "2"}


class Line(NamedTuple):
    """A line whose beginning is painted where there are colours."""

    painted: str
    style: str
    rest: str = ""

    def __str__(self) -> str:
        return self.painted + self.rest


Lines = Iterable["str | Line"]


def printable(text: str) -> str:
    """Without control characters but for the ends of lines and tabs."""
    return _DOUBTFUL.sub(_shown, text)


def inline(text: str) -> str:
    """The same inside a line of ours."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


_DOUBTFUL = re.compile(r"[^\n\t -~]")


def _shown(found: re.Match[str]) -> str:
    char = found[0]
    if char.isprintable():
        return char
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


def text_of(lines: Lines, *, colour: bool = False) -> str:
    """The lines as they are shown, each of them one."""
    return "".join(
        f"{_drawn(line) if colour and isinstance(line, Line) else inline(str(line))}\n" for line in lines
    )


def _drawn(line: Line) -> str:
    return f"\x1b[{_COLOURS[line.style]}m{inline(line.painted)}\x1b[0m{inline(line.rest)}"


def draw(lines: Lines) -> None:
    """Lines to stdout, in colour where that is wanted."""
    _out(text_of(lines, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ))


def write(content: str | bytes) -> None:
    """A document to stdout. A patch is bytes, in the encodings of the files that it is for, and only a terminal is spared
    what those hold."""
    if isinstance(content, bytes) and sys.stdout.isatty():
        content = content.decode("utf-8", "replace")
    _out(printable(content) if isinstance(content, str) else content)


def say(text: str) -> None:
    """Progress, hints and errors: to stderr."""
    sys.stderr.write(f"{printable(text)}\n")


def _out(content: str | bytes) -> None:
    try:
        sys.stdout.flush()
        if isinstance(content, bytes):
            sys.stdout.buffer.write(content)
        else:
            encoding = sys.stdout.encoding or "utf-8"  # a locale may not have all of it
            sys.stdout.write(content.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except OSError as problem:
        if problem.errno == errno.EIO:  # of a terminal that has hung up
            raise BrokenPipeError from None
        raise
