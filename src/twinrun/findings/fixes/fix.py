"""A fix: the user's own source and the source to write instead. Fixes of one source can be merged."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property

SEED = 42  # the seed that fixes write where the program has none


@dataclass(frozen=True)
class Fix:
    """A rewrite of a file of the user's. `safe`: it can change nothing but randomness and order."""

    code: str
    file: str
    line: int
    note: str
    safe: bool
    source: str = field(repr=False)
    fixed: str = field(repr=False)
    seeds: int = 0  # how often a seed is written in it

    @cached_property
    def hunks(self) -> tuple[tuple[str, str], ...]:
        """Neighbouring lines that change, and what takes their place; where lines are only added, the first is
        empty."""
        edits = _changed(lines_of(self.source), lines_of(self.fixed))
        return tuple((self.source[e.start : e.end].strip("\r\n"), e.text.strip("\r\n")) for e in edits)

    @property
    def before(self) -> str:
        """The user's lines that change; places that are apart are set apart by a line of dots."""
        return _joined(before for before, _ in self.hunks)

    @property
    def after(self) -> str:
        """The lines to write instead."""
        return _joined(after for _, after in self.hunks)

    def changes(self) -> str:
        """Each line that goes behind a `-`, each that comes behind a `+`, as a report shows them."""
        hunks = []
        for hunk in self.hunks:
            signed = zip("-+", hunk, strict=True)
            lines = [f"{sign} {line}".rstrip() for sign, text in signed for line in text.splitlines()]
            hunks.append("\n".join(lines))
        return _joined(hunks)

    def describe(self) -> str:
        """For a finding's `fix`: what is done, and the lines to write."""
        lines = "\n".join(f"    {line}".rstrip() for line in self.after.splitlines())
        return f"{self.note}:\n{lines}" if lines else self.note


@dataclass(frozen=True, order=True)
class Edit:
    """Characters `start` to `end` of a text give way to `text`. An insertion has `start == end`."""

    start: int
    end: int
    text: str


def combined(source: str, fixes: Iterable[Fix]) -> str:
    """The source with every fix in it that is made for this very source and fits with those before it."""
    made: set[str] = set()
    edits: list[Edit] = []
    for fix in fixes:
        if fix.source != source or fix.fixed in made:
            continue
        new = [edit for edit in edits_between(source, fix.fixed) if not _is_made(edit, edits)]
        if any(_overlap(edit, other) for edit in new for other in edits):
            continue
        if parses(apply(source, [*edits, *new])):
            edits += new
            made.add(fix.fixed)
    return apply(source, edits)


def edits_between(before: str, after: str) -> Iterator[Edit]:
    """Edits that turn one text into the other: whole lines where lines are added or go, words within others."""
    for edit in _changed(lines_of(before), lines_of(after)):
        if edit.start == edit.end or not edit.text:
            yield edit
            continue
        for word in _changed(_words(before[edit.start : edit.end]), _words(edit.text)):
            yield Edit(edit.start + word.start, edit.start + word.end, word.text)


def apply(source: str, edits: Iterable[Edit]) -> str:
    """The source with the edits made. Insertions at one place keep the order in which they are given."""
    pieces: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):  # sorted() is stable
        pieces += [source[position : edit.start], edit.text]
        position = edit.end
    return "".join([*pieces, source[position:]])


def parses(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


def _changed(before: Sequence[str], after: Sequence[str]) -> list[Edit]:
    """What differs between two texts in pieces, as edits of the first."""
    starts = [0]
    for piece in before:
        starts.append(starts[-1] + len(piece))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return [
        Edit(starts[i], starts[j], "".join(after[k:m]))
        for tag, i, j, k, m in matcher.get_opcodes()
        if tag != "equal"
    ]


def _is_made(edit: Edit, edits: Sequence[Edit]) -> bool:
    """Whether an earlier fix makes this edit too: an import that both need is added once. Within a line, a
    parenthesis that two fixes insert at one place is two parentheses."""
    return edit in edits and (edit.start < edit.end or edit.text.endswith(("\n", "\r")))


def _overlap(first: Edit, second: Edit) -> bool:
    """Whether two edits cannot both be made. Insertions side by side can."""
    return first.start < second.end and second.start < first.end


def lines_of(text: str) -> list[str]:
    """Lines as Python counts them (str.splitlines counts more), each with its ending."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|\W", text)


def _joined(parts: Iterable[str]) -> str:
    return "\n...\n".join(part for part in parts if part)
