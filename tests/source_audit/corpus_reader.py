"""Reads the corpus: small programs with the findings they must have written at the end of the guilty lines.

A program begins with `# %% what it is about`; several files of one program with `# file: its/path.py`, the
first of which is the one to audit (the whole folder, when the title begins with `[folder]`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
_MARK = re.compile(r"#! ([A-Z0-9 ]+)$")


@dataclass(frozen=True)
class Case:
    title: str
    files: dict[str, str]

    @property
    def whole_folder(self) -> bool:
        return self.title.startswith("[folder]")

    @property
    def first(self) -> str:
        return next(iter(self.files))

    @property
    def expected(self) -> set[tuple[str, str, int]]:
        """(code, file, line) of every finding."""
        return {
            (code, name, number)
            for name, text in self.files.items()
            for number, line in enumerate(text.split("\n"), 1)
            if (mark := _MARK.search(line))
            for code in mark[1].split()
        }

    def lay_out(self, folder: Path) -> Path:
        """Write the files, without the marks, and return what to audit."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(_MARK.sub("", line).rstrip() for line in text.split("\n")))
        return folder if self.whole_folder else folder / self.first


def cases() -> list[Case]:
    found = []
    for path in sorted(CORPUS.glob("*.py")):
        for cell in re.split(r"^# %% ", path.read_text(), flags=re.MULTILINE)[1:]:
            title, _, text = cell.partition("\n")
            pieces = re.split(r"^# file: (\S+)\n", text, flags=re.MULTILINE)
            files = dict(zip(pieces[1::2], pieces[2::2], strict=True)) or {"main.py": text}
            found.append(Case(title.strip(), files))
    return found
