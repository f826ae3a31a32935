"""Where values stand in a JSON text, so that one of them can be changed and every other byte stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def members(text: str, at: int) -> dict[str, int]:
    """Where the values of the object begin that begins here."""
    found: dict[str, int] = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        found[name] = at = _skip(text, _skip(text, at) + 1)
        at = _next(text, at)
    return found


def items(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Where the values of the array begin and end that begins here."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        yield at, _DECODER.raw_decode(text, at)[1]
        at = _next(text, at)


def _next(text: str, at: int) -> int:
    """Behind a value and the comma after it."""
    at = _skip(text, _DECODER.raw_decode(text, at)[1])
    return _skip(text, at + 1) if text[at] == "," else at


@dataclass(frozen=True)
class JsonText:
    """A text of several lines in a JSON file: one string, or, as Jupyter has it, an array with a string for each line."""

    start: int
    end: int
    parts: tuple[tuple[int, int], ...] | None  # None: one string

    @staticmethod
    def at(text: str, start: int) -> JsonText:
        end = _DECODER.raw_decode(text, start)[1]
        return JsonText(start, end, tuple(items(text, start)) if text[start] == "[" else None)

    def lines(self, text: str) -> list[int]:
        """The line of the file in which each line of the text stands."""
        found: list[int] = []
        row, at, begins = 1, 0, True  # `begins`: a new line
        for start, end in self.parts if self.parts is not None else ((self.start, self.end),):
            value = _DECODER.raw_decode(text, start)[0]
            row, at = row + text.count("\n", at, start), end
            found += [row] * (value.count("\n") + begins - value.endswith("\n"))
            begins = value.endswith("\n")
        return found

    def changed(self, text: str, new: str) -> str:
        """The value with another text, written as the old one is: a line that stays keeps its bytes."""
        if not self.parts:
            return _encoded(new)
        old = [text[start:end] for start, end in self.parts]
        written = _aligned(old, [_DECODER.raw_decode(each)[0] for each in old], new.splitlines(keepends=True))
        first, last = self.parts[0], self.parts[-1]
        before = text[self.start + 1 : first[0]]
        between = text[first[1] : self.parts[1][0]] if len(self.parts) > 1 else f",{before or ' '}"
        return f"[{before}{between.join(written)}{text[last[1] : self.end]}"


def _aligned(old: Sequence[str], values: Sequence[str], new: Sequence[str]) -> list[str]:
    written: list[str] = []
    for tag, i, j, k, m in SequenceMatcher(None, values, new, autojunk=False).get_opcodes():
        written += old[i:j] if tag == "equal" else map(_encoded, new[k:m])
    return written


def _encoded(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
