"""A notebook: read as one Python text, and written back from one. Each cell stands below a line that names it, so that a
changed text still says which lines belong to which cell."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from twinrun import untrusted
from twinrun.errors import BadNotebook
from twinrun.notebooks import is_notebook
from twinrun.notebooks.json_places import JsonText, items, members
from twinrun.notebooks.jupyter import all_cells
from twinrun.notebooks.translate import Translation, translated

LARGEST = 256 << 20  # bytes of a notebook, with the pictures in it
_MARKER = re.compile(r'"twinrun: cell (\d+)"')
_MAY_FAIL = "raises-exception"  # the tag of a cell that may, for every tool that runs notebooks


def marker(number: int) -> str:
    """The line above a cell: a statement, which no change of others takes away as it might a comment."""
    return f'"twinrun: cell {number}"'


def cell_number(line: str) -> int | None:
    """The number in a marker; None for any other line."""
    found = _MARKER.fullmatch(line)
    return None if found is None else int(found[1])


@dataclass(frozen=True)
class Cell:
    """A code cell that is not empty. `number` is what Jupyter shows beside it once all cells have run in order."""

    number: int
    source: str = field(repr=False)
    stands: JsonText = field(repr=False)
    may_fail: bool = False

    @cached_property
    def translation(self) -> Translation:
        return translated(self.source)

    @property
    def lines(self) -> list[str]:
        return self.source.split("\n")

    def changed(self, python: str) -> str:
        """The source that this Python is the translation of."""
        before, after = self.translation.python.split("\n"), python.split("\n")
        found: list[str] = []
        for tag, i, j, k, m in _differences(before, after):
            if tag == "equal":
                found += self.lines[i:j]
            elif j - i == m - k:
                found += map(self._rewritten, range(i, j), after[k:m])
            else:
                self._must_be_python(i, j)
                found += after[k:m]
        text = "\n".join(found)
        return text if self.source.endswith("\n") else text.rstrip("\n")

    def _rewritten(self, at: int, line: str) -> str:
        """A line that takes the place of another: `%time` in front of it stays."""
        source, python = self.lines[at], self.translation.python.split("\n")[at]
        if source != python and python and source.endswith(python):
            return source.removesuffix(python) + line
        self._must_be_python(at, at + 1)
        return line

    def _must_be_python(self, first: int, last: int) -> None:
        python = self.translation.python.split("\n")
        for at in range(first, last):
            if not self.lines[at].endswith(python[at]):
                raise BadNotebook(f"cell {self.number}, line {at + 1} cannot be changed: it is not Python")


def _differences(before: list[str], after: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """As opcodes of difflib, which left to itself may pair a line with a later one that reads the same. What the texts
    begin and end with is equal."""
    shorter = min(len(before), len(after))
    head = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    tail = next((n for n in range(shorter - head) if before[-1 - n] != after[-1 - n]), shorter - head)
    i, k = len(before) - tail, len(after) - tail
    yield "equal", 0, head, 0, head
    for tag, *ends in SequenceMatcher(None, before[head:i], after[head:k], autojunk=False).get_opcodes():
        a, b, c, d = (head + end for end in ends)
        yield tag, a, b, c, d
    yield "equal", i, len(before), k, len(after)


@dataclass(frozen=True)
class CellLine:
    """A line of a cell, and the line of the file that it stands in."""

    cell: int
    line: int
    file_line: int | None = None


class Notebook:
    """Raises BadNotebook for what cannot be read, or holds no Python."""

    def __init__(self, data: bytes, name: str = "the notebook") -> None:
        try:
            self.file = data.decode("utf-8")
            cells, metadata = all_cells(self.file)
            _must_be_python(name, metadata)
            self.cells = tuple(_cells(cells, self.file))
        except ValueError as problem:  # also of a byte that is not UTF-8
            raise BadNotebook(f"{name} cannot be read as a notebook: {problem}") from None
        except (LookupError, TypeError, AttributeError, RecursionError) as problem:
            what = f"it is damaged ({type(problem).__name__}: {problem})"
            raise BadNotebook(f"{name} cannot be read as a notebook: {what}") from None

    @cached_property
    def text(self) -> str:
        """All of it as Python."""
        return "".join(f"{marker(cell.number)}\n{cell.translation.python}\n" for cell in self.cells)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The line of the text in which the marker of each cell stands."""
        found, line = [], 1
        for cell in self.cells:
            found.append(line)
            line += len(cell.lines) + 1
        return tuple(found)

    @property
    def skipped(self) -> tuple[str, ...]:
        """What is not run, in words."""
        return tuple(
            f"skipped cell {cell.number}, line {each.line}: {each.text} ({each.why})"
            for cell in self.cells
            for each in cell.translation.skipped
        )

    def place(self, line: int) -> CellLine | None:
        """The cell and its line that a line of the text is."""
        at = bisect_left(self.starts, line + 1) - 1
        if at < 0:
            return None
        cell = self.cells[at]
        inside = min(max(1, line - self.starts[at]), len(cell.lines))
        rows = cell.stands.lines(self.file)
        return CellLine(cell.number, inside, rows[inside - 1] if inside <= len(rows) else None)

    def with_text(self, text: str) -> bytes:
        """The file with the cells as they are in a changed text. What did not change keeps its bytes."""
        new = _split(text)
        if sorted(new) != [cell.number for cell in self.cells]:
            raise BadNotebook("the cells of the notebook can no longer be distinguished")
        parts, at = [], 0
        for cell in self.cells:
            if new[cell.number] != cell.translation.python:
                stands = cell.stands
                parts += [
                    self.file[at : stands.start],
                    stands.changed(self.file, cell.changed(new[cell.number])),
                ]
                at = stands.end
        return "".join([*parts, self.file[at:]]).encode("utf-8")


def _cells(cells: list[Any], file: str) -> Iterator[Cell]:
    number = 0
    stand = items(file, members(file, file.index("{"))["cells"])
    for cell, (start, _) in zip(cells, stand, strict=True):
        if cell["cell_type"] == "code" and cell["source"].strip():
            number += 1
            tags = cell.get("metadata", {}).get("tags", ())
            stands = JsonText.at(file, members(file, start)["source"])
            yield Cell(number, cell["source"], stands, may_fail=_MAY_FAIL in tags)


def _must_be_python(name: str, metadata: Mapping[str, Any]) -> None:
    known = [metadata.get("kernelspec", {}).get("language"), metadata.get("language_info", {}).get("name")]
    other = next((language for language in known if language not in (None, "", "python")), None)
    if other is not None:
        raise BadNotebook(f"{name} is a notebook in {other}", hint="Twinrun runs Python")


def _split(text: str) -> dict[int, str]:
    """The Python of each cell. What stands above the first marker belongs to the first cell."""
    found: dict[int, list[str]] = {}
    above: list[str] = []
    lines = above
    for line in text.removesuffix("\n").split("\n"):
        number = cell_number(line)
        if number is not None:
            lines = found[number] = [] if found else above
        else:
            lines.append(line)
    return {number: "\n".join(each) for number, each in found.items()}


@lru_cache(maxsize=4)
def parsed(data: bytes, name: str) -> Notebook:
    return Notebook(data, name)


def read_notebook(path: Path, patched: Mapping[str, str] | None = None) -> Notebook:
    """The notebook of a file, or of the content that `patched` has for it by its absolute path."""
    content = (patched or {}).get(str(path.resolve()))
    data = untrusted.read_bytes(path, LARGEST) if content is None else content.encode()
    return parsed(data, path.name)


def source_of(path: Path, patched: Mapping[str, str] | None = None) -> bytes:
    """The Python of a file. Raises OSError and ValueError as untrusted.read_bytes does, and BadNotebook."""
    if is_notebook(path):
        return read_notebook(path, patched).text.encode()
    content = (patched or {}).get(str(path.resolve()))
    return untrusted.read_bytes(path) if content is None else content.encode()
