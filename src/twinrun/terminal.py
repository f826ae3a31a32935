"""Text on its way to a terminal. Names come from programs, recordings and project files: control characters in them are
shown, never sent, and none of them can begin a line of its own. Nothing else writes to stdout or stderr."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Literal, NamedTuple

_COLOURS = {
    "repeats": "32",
    "diverges": "31",
    "undecided": "33",
    "dim": "2",
    "+": "32",
    "-": "31",
    "^": "31",
}


class Line(NamedTuple):
    """A line whose beginning is painted where there are colours. What does not `fit` the width of the terminal goes on in
    the next row at a word's end, is cut off, or is left to the terminal, so that it can be copied."""

    painted: str
    style: str
    rest: str = ""
    fit: Literal["fold", "cut", "leave"] = "fold"

    def __str__(self) -> str:
        return self.painted + self.rest


Lines = Iterable["str | Line"]


def printable(text: str) -> str:
    """Without control characters but for the ends of lines and tabs."""
    return _DOUBTFUL.sub(_shown, text)


def inline(text: str) -> str:
    """The same inside a line of ours."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def duration(seconds: float) -> str:
    """As roughly as an estimate is known."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


_DOUBTFUL = re.compile(r"[^\n\t -~]")


def _shown(found: re.Match[str]) -> str:
    char = found[0]
    if char.isprintable():
        return char
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


def text_of(lines: Lines, *, colour: bool = False, width: int | None = None) -> str:
    """The lines as they are shown, each of them one, or as many rows of this width as it needs."""
    return "".join(f"{row}\n" for line in lines for row in _rows(line, colour, width))


def _rows(line: str | Line, colour: bool, width: int | None) -> Iterable[str]:
    text = inline(str(line))
    rows = [text]
    if width is not None and len(text) > width:
        fit = line.fit if isinstance(line, Line) else "fold"
        rows = (
            _folded(text, width) if fit == "fold" else [f"{text[: width - 1]}…"] if fit == "cut" else [text]
        )
    if not colour or not isinstance(line, Line):
        return rows
    painted = inline(line.painted)
    if not line.rest:
        return [_painted(row, line.style) for row in rows]
    first = rows[0]
    return [_painted(first[: len(painted)], line.style) + first[len(painted) :], *rows[1:]]


def _folded(text: str, width: int) -> list[str]:
    """Later rows stand a little to the right. What is one word, a path say, stays one."""
    indent = " " * (len(text) - len(text.lstrip()))
    return textwrap.wrap(
        text.strip(),
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _painted(text: str, style: str) -> str:
    return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m" if style in _COLOURS else text


def colours_wanted() -> bool:
    """NO_COLOR and FORCE_COLOR as https://no-color.org and https://force-color.org have them; else where stdout is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    forced = os.environ.get("FORCE_COLOR", "")
    return forced not in ("", "0") or sys.stdout.isatty()


def draw(lines: Lines) -> None:
    """Lines to stdout: in colour where that is wanted, and as wide as a terminal is."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    _out(text_of(lines, colour=colours_wanted(), width=width))


def write(content: str | bytes) -> None:
    """A document to stdout. A patch is bytes, in the encodings of the files that it is for, and only a terminal is spared
    what those hold."""
    if isinstance(content, bytes) and sys.stdout.isatty():
        content = content.decode("utf-8", "replace")
    _out(printable(content) if isinstance(content, str) else content)


def say(text: str) -> None:
    """Progress, hints and errors: to stderr."""
    sys.stderr.write(f"{printable(text)}\n")


def pass_on(text: str) -> None:
    """What the user's own program prints, to stderr: as it would look without us, colours and progress bars included."""
    sys.stderr.write(text)
    sys.stderr.flush()


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
