"""Reads the zoo's manifests and lays a program out in a fresh folder. Knows nothing of Twinrun itself."""

from __future__ import annotations

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
GROUPS = ("guilty", "innocent", "advisory", "undecided")


@dataclass(frozen=True)
class Cause:
    """One true cause: the codes that name it rightly, the lines to blame, and the edit that removes it."""

    codes: tuple[str, ...]
    lines: tuple[str, ...]
    """Acceptable file:line places, relative to the program's folder; empty when no one line is to blame."""
    fix: tuple[tuple[str, str, str], ...]
    """(file, old text, new text): with these applied the program repeats."""


@dataclass(frozen=True)
class Program:
    """A program of the zoo, with what a right answer about it looks like."""

    name: str
    root: Path
    """The script, or the folder that holds the script or package and its data."""
    run: tuple[str, ...]
    """What follows `python` (script or -m module, and arguments), relative to the folder."""
    group: str
    verdict: str
    vary: tuple[str, ...]
    """Variations under which it shows; empty when it shows by itself."""
    options: tuple[str, ...]
    shows: str
    """How often two runs of it differed when it was last verified."""
    causes: tuple[Cause, ...]
    heldout: bool

    @property
    def family(self) -> str:
        """The label under which the program is counted: its code, both codes, or its group."""
        if self.causes:
            return "+".join(sorted(cause.codes[0] for cause in self.causes))
        return self.group


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
    program = Program(
        name=entry["name"],
        root=base / entry["root"],
        run=tuple(entry["run"]),
        group=entry["group"],
        verdict=entry["verdict"],
        vary=tuple(entry.get("vary", ())),
        options=tuple(entry.get("options", ())),
        shows=entry.get("shows", ""),
        causes=causes,
        heldout=heldout,
    )
    if program.group not in GROUPS:
        raise ValueError(f"{program.name}: group must be one of {', '.join(GROUPS)}, not {program.group!r}")
    if not program.root.exists():
        raise FileNotFoundError(f"{program.name}: {program.root} is not there")
    return program


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
