"""A fix: the user's own lines and the lines to write instead, as exact edits of the source text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from twinrun.findings.fixes.text import line_starts


@dataclass(frozen=True, order=True)
class Edit:
    """Characters `start` to `end` of the source give way to `text`. An insertion has `start == end`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Draft:
    """What one fixer proposes. `safe`: it can change nothing but randomness and order."""

    edits: tuple[Edit, ...]
    note: str
    safe: bool


@dataclass(frozen=True)
class Fix:
    """A rewrite of a file of the user's. A hunk is some neighbouring lines of the user's and what takes their
    place; where lines are only added, the first is empty."""

    code: str
    file: str
    line: int
    hunks: tuple[tuple[str, str], ...]
    note: str
    safe: bool
    source: str = field(repr=False)
    edits: tuple[Edit, ...] = field(repr=False)

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
        for before, after in self.hunks:
            lines = [f"- {line}" for line in before.splitlines()] + [
                f"+ {line}" for line in after.splitlines()
            ]
            hunks.append("\n".join(line.rstrip() for line in lines))
        return _joined(hunks)

    def fixed(self) -> str:
        """The whole source with this fix in it."""
        return apply(self.source, self.edits)

    def describe(self) -> str:
        """For a finding's `fix`: what is done, and the lines to write."""
        lines = "\n".join(f"    {line}".rstrip() for line in self.after.splitlines())
        return f"{self.note}:\n{lines}" if lines else self.note


def apply(source: str, edits: Iterable[Edit]) -> str:
    """The source with the edits made. Insertions at one place keep the order in which they are given."""
    pieces: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):  # sorted() is stable
        pieces += [source[position : edit.start], edit.text]
        position = edit.end
    return "".join([*pieces, source[position:]])


def overlap(first: Edit, second: Edit) -> bool:
    """Whether two edits cannot both be made. Insertions side by side can."""
    return first.start < second.end and second.start < first.end


def make(code: str, file: str, line: int, source: str, draft: Draft) -> Fix:
    """A fix from a draft, with the lines it touches before and after."""
    hunks = touched_lines(source, draft.edits)
    return Fix(code, file, line, hunks, draft.note, draft.safe, source, draft.edits)


def touched_lines(source: str, edits: tuple[Edit, ...]) -> tuple[tuple[str, str], ...]:
    """The touched lines before and after, neighbouring lines together."""
    starts = line_starts(source)
    regions: list[tuple[int, int, list[Edit]]] = []  # first line, line after the last, edits
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        first, last = bisect_right(starts, edit.start) - 1, bisect_right(starts, edit.end) - 1
        inserts_lines = edit.start == edit.end == starts[first] and edit.text.endswith("\n")
        ends_with_line = edit.end > edit.start and edit.end == starts[last]
        end = last if inserts_lines or ends_with_line else last + 1
        if regions and first <= regions[-1][1]:
            regions[-1] = (regions[-1][0], max(regions[-1][1], end), [*regions[-1][2], edit])
        else:
            regions.append((first, end, [edit]))
    starts.append(len(source))
    hunks = []
    for first, end, inside in regions:
        begin = starts[first]
        shifted = [Edit(edit.start - begin, edit.end - begin, edit.text) for edit in inside]
        part = source[begin : starts[end]]
        hunks.append((part.strip("\r\n"), apply(part, shifted).strip("\r\n")))
    return tuple(hunks)


def _joined(parts: Iterable[str]) -> str:
    return "\n...\n".join(part for part in parts if part)
