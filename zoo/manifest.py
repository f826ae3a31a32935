"""Reads the zoo's manifests and lays a program out in a fresh folder. Knows nothing of Twinrun itself."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ZOO = Path(__file__).resolve().parent
OPEN = ZOO / "manifest.toml"
HELDOUT = ZOO / "heldout" / "manifest.toml"
SUITES = {name: ZOO / name / "manifest.toml" for name in ("hide", "looks", "real")}
GROUPS = ("guilty", "hidden", "innocent", "advisory", "undecided")


@dataclass(frozen=True)
class Cause:
    """One true cause: the codes that name it rightly, the lines to blame, and the edit that removes it."""

    codes: tuple[str, ...]
    lines: tuple[str, ...]
    """Acceptable file:line or file:first-last places, relative to the program's folder; empty when no one line is
    to blame."""
    fix: tuple[tuple[str, str, str], ...]
    """(file, old text, new text): with these applied the program repeats."""

    def blames(self, place: str) -> bool:
        """Whether a file:line is one of the acceptable places."""
        file, _, line = place.rpartition(":")
        return any(file == name and int(line) in span for name, span in map(parse_place, self.lines))


@dataclass(frozen=True)
class Program:
    """A program of the zoo, with what a right answer about it looks like."""

    name: str
    root: Path
    """The script, or the folder that holds the script or package and its data."""
    run: tuple[str, ...]
    """What follows `python` (script or -m module, and arguments), relative to the folder."""
    group: str
    verdicts: tuple[str, ...]
    """The verdicts that are right."""
    vary: tuple[str, ...]
    """Variations under which it shows; empty when it shows by itself."""
    options: tuple[str, ...]
    shows: str
    """How often two runs of it differed when it was last verified."""
    causes: tuple[Cause, ...]
    heldout: bool
    suite: str = ""
    delivers: tuple[str, ...] = ()
    """What the runs are compared by: `stdout`, or patterns of files; the last line printed when empty."""
    showy: str = ""
    """Printed lines that match this show only the clock and its like, and are not compared."""
    steady: str = ""
    """Printed lines that match this are equal in all runs: what someone who watches the training sees."""
    kinds: tuple[str, ...] = ()
    """The kinds of reasons that are right where the verdict is `undecided`; any when empty."""
    fixable: bool = True
    """Whether edits of the program can make it repeat."""

    @property
    def family(self) -> str:
        """The label under which the program is counted: its code, both codes, or its group."""
        if self.causes:
            return "+".join(sorted(cause.codes[0] for cause in self.causes))
        return self.group


def parse_place(place: str) -> tuple[str, range]:
    """The file and the lines of `file:line` or `file:first-last`."""
    file, _, lines = place.rpartition(":")
    first, _, last = lines.partition("-")
    return file, range(int(first), int(last or first) + 1)


def without(pattern: str, text: str) -> str:
    """The text without the lines in which the pattern is found."""
    if not pattern:
        return text
    return "\n".join(line for line in text.splitlines() if not re.search(pattern, line))


def load(path: Path, heldout: bool | None = None) -> list[Program]:
    """Every program of one manifest, in its order."""
    if heldout is None:
        heldout = path.parent.name == "heldout"
    with path.open("rb") as stream:
        document = tomllib.load(stream)
    return [_program(entry, path.parent, heldout) for entry in document["program"]]


def _program(entry: dict[str, Any], base: Path, heldout: bool) -> Program:
    causes = tuple(
        Cause(tuple(c["codes"]), tuple(c["lines"]), tuple((f, old, new) for f, old, new in c["fix"]))
        for c in entry.get("cause", [])
    )
    verdict = entry["verdict"]
    program = Program(
        name=entry["name"],
        root=base / entry["root"],
        run=tuple(entry["run"]),
        group=entry["group"],
        verdicts=(verdict,) if isinstance(verdict, str) else tuple(verdict),
        vary=tuple(entry.get("vary", ())),
        options=tuple(entry.get("options", ())),
        shows=entry.get("shows", ""),
        causes=causes,
        heldout=heldout,
        suite=base.name if base.name in SUITES else "",
        delivers=tuple(entry.get("delivers", ())),
        showy=entry.get("showy", ""),
        steady=entry.get("steady", ""),
        kinds=tuple(entry.get("kinds", ())),
        fixable=entry.get("fixable", True),
    )
    if program.group not in GROUPS:
        raise ValueError(f"{program.name}: group must be one of {', '.join(GROUPS)}, not {program.group!r}")
    if not program.root.exists():
        raise FileNotFoundError(f"{program.name}: {program.root} is not there")
    return program


def libraries_for(program: Program) -> dict[str, str]:
    """The variable that brings pandas and the like to a program that imports them; they have a folder of their own."""
    folder = Path(sys.prefix) / "libraries" / "site-packages"
    files = program.root.rglob("*.py") if program.root.is_dir() else [program.root]
    imports = re.compile(r"^\s*(?:import|from) (?:gymnasium|pandas|scipy|sklearn)\b", re.MULTILINE)
    needed = any(imports.search(file.read_text(encoding="utf-8")) for file in files)
    return {"PYTHONPATH": str(folder)} if needed and folder.is_dir() else {}


def lay_out(program: Program, folder: Path, fixed: tuple[int, ...] = ()) -> Path:
    """Copy the program into an empty folder, with the causes of these numbers (from 0) fixed."""
    if program.root.is_dir():
        shutil.copytree(
            program.root, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    else:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(program.root, folder)
    for number in fixed:
        for name, old, new in program.causes[number].fix:
            target = folder / name
            text = target.read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise ValueError(f"{program.name}: the text to fix occurs {text.count(old)} times in {name}")
            target.write_text(text.replace(old, new), encoding="utf-8")
    return folder
