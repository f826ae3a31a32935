"""A fix: the user's own source and the source to write instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
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
        before, after = lines_of(self.source), lines_of(self.fixed)
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        changed = (opcode for opcode in matcher.get_opcodes() if opcode[0] != "equal")
        return tuple((_text(before[i:j]), _text(after[k:m])) for _, i, j, k, m in changed)

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
        """The text of a finding's `fix`: what to do, and the lines that change."""
        return "\n".join(filter(None, (self.note, self.changes())))


def parses(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


def lines_of(text: str) -> list[str]:
    """Lines as Python counts them (str.splitlines counts more), each with its ending."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)


def _text(lines: Iterable[str]) -> str:
    return "".join(lines).strip("\r\n")


def _joined(parts: Iterable[str]) -> str:
    return "\n...\n".join(part for part in parts if part)
