"""Places in a source text. `ast` counts lines and UTF-8 bytes; edits count characters."""

from __future__ import annotations

import re

_LINE_END = re.compile(r"\r\n|\r|\n")


def line_starts(source: str) -> list[int]:
    """The offset at which each line begins, as Python counts lines (str.splitlines counts more of them)."""
    return [0, *(match.end() for match in _LINE_END.finditer(source))]


def newline_of(source: str) -> str:
    """The line ending the file uses."""
    match = _LINE_END.search(source)
    return match[0] if match else "\n"


def characters(line: str, byte_column: int) -> int:
    """A column of `ast`, which counts UTF-8 bytes, as a number of characters."""
    return byte_column if line.isascii() else len(line.encode()[:byte_column].decode(errors="ignore"))
