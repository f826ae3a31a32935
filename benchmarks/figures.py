"""The figures that `make bench` keeps: figures.json beside this file, and the tables of docs/explanation/benchmarks.md that are
made of it. A row that cannot be measured here, for want of a GPU say, stays as it was, with its date and machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from measure import HERE, table

FILE = HERE / "figures.json"
PAGE = HERE.parent / "docs" / "explanation" / "benchmarks.md"
BEGIN = "<!-- written by `make bench`: {} -->"
END = "<!-- end of what `make bench` writes -->"


@dataclass(frozen=True)
class Row:
    """One line of a table. `taken`: when and on which machine, in words."""

    name: str
    cells: Mapping[str, str]  # by the heading of the column
    taken: str = ""


class Figures:
    """Tables by name, each of which has rows by name."""

    def __init__(self, file: Path = FILE) -> None:
        self._file = file
        found = json.loads(file.read_text()) if file.is_file() else {}
        self.tables: dict[str, dict[str, Row]] = {
            name: {row["name"]: Row(**row) for row in rows} for name, rows in found.items()
        }

    def add(self, name: str, rows: Iterable[Row], taken: str) -> None:
        """Measured now. A row replaces the one of its name; the others stay."""
        known = self.tables.setdefault(name, {})
        for row in rows:
            known[row.name] = Row(row.name, dict(row.cells), taken)

    def save(self) -> None:
        document = {name: [asdict(row) for row in rows.values()] for name, rows in self.tables.items()}
        self._file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def markdown(self, name: str) -> str:
        """The table of this name, and below it when and where its rows were taken."""
        rows = list(self.tables.get(name, {}).values())
        columns = list(dict.fromkeys(column for row in rows for column in row.cells))
        taken = list(dict.fromkeys(row.taken for row in rows))
        several = len(taken) > 1
        head = ["", *columns, *(["taken"] if several else [])]
        lines = [
            [row.name, *(row.cells.get(column, "") for column in columns)]
            + ([str(taken.index(row.taken) + 1)] if several else [])
            for row in rows
        ]
        notes = [f"{number}. {each}" for number, each in enumerate(taken, start=1)] if several else taken
        return "\n\n".join([table(head, lines), "\n".join(notes)])

    def write_page(self, page: Path = PAGE) -> list[str]:
        """Every table to its place in the page, between its markers. Returns those that have none."""
        text = page.read_text(encoding="utf-8")
        missing = []
        for name in self.tables:
            before, begin, rest = text.partition(BEGIN.format(name))
            _, end, after = rest.partition(END)
            if begin and end:
                text = f"{before}{begin}\n\n{self.markdown(name)}\n\n{end}{after}"
            else:
                missing.append(name)
        page.write_text(text, encoding="utf-8")
        return missing
