"""From lines of a notebook's Python text, which everything inside Twinrun speaks of, to the cells that its readers know.
Done when a result is made; `line_of_text` is the way back, for whoever changes the text."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from twinrun.errors import BadNotebook
from twinrun.notebooks import is_notebook
from twinrun.notebooks.notebook import Notebook, cell_number, marker, read_notebook

T = TypeVar("T")


def placed(found: Iterable[T], patched: Mapping[str, str] | None = None) -> tuple[T, ...]:
    """Findings, and what else has `file`, `line` and `cell`, with cell and line where the file is a notebook. `patched` is
    what the twins saw in place of some files."""
    return tuple(_placed(each, patched) for each in found)


def _placed(each: Any, patched: Mapping[str, str] | None) -> Any:
    if each.file is None or each.line is None or each.cell is not None or not is_notebook(each.file):
        return each
    notebook = _read(each.file, patched)
    place = notebook.place(each.line) if notebook is not None else None
    if place is None:
        return each
    known = {"cell": place.cell, "line": place.line, "file_line": place.file_line}
    return _replaced(each, {name: value for name, value in known.items() if hasattr(each, name)})


def _replaced(each: Any, changes: Mapping[str, Any]) -> Any:
    replace: Callable[..., Any] = (
        msgspec.structs.replace if isinstance(each, msgspec.Struct) else dataclasses.replace
    )
    return replace(each, **changes)


def by_cells(path: str, patched: Mapping[str, str] | None = None) -> Callable[[str], str]:
    """What spells the places in a notebook that a text names by their cells."""
    notebook = _read(path, patched)
    file = Path(path)
    names = {str(file.resolve()), str(file.absolute()), os.path.relpath(path), path, file.name}
    name = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
    # As we write it, and as Python does in a warning or a traceback. What follows a colon is the value of --freeze, which
    # can be given again.
    pattern = re.compile(rf'(?<![\w:/.-])(?P<file>"?(?:{name})"?)(?::|, line )(?P<line>\d+)\b')

    def spelled(found: re.Match[str]) -> str:
        place = None if notebook is None else notebook.place(int(found["line"]))
        return found[0] if place is None else f"{found['file']}, cell {place.cell}, line {place.line}"

    return lambda text: pattern.sub(spelled, text)


def line_of_text(text: str, cell: int | None, line: int) -> int:
    """The line of a notebook's text that a line of a cell is; of any other text, the line itself."""
    lines = text.split("\n")
    return line if cell is None or marker(cell) not in lines else lines.index(marker(cell)) + 1 + line


def place_in_text(text: str, line: int) -> tuple[int | None, int]:
    """The cell and its line that a line of a notebook's text is; of any other text, no cell and the line itself."""
    for above, each in enumerate(reversed(text.split("\n")[:line])):
        if (number := cell_number(each)) is not None:
            return number, above
    return None, line


def _read(path: str, patched: Mapping[str, str] | None) -> Notebook | None:
    try:
        return read_notebook(Path(path), patched)
    except (OSError, ValueError, BadNotebook):
        return None
