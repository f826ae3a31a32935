"""Twins that run in copies of the program's folder: each starts from the same files, and the user's own are never
written. The way to freeze an input file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from twinrun.errors import CannotCopy
from twinrun.launch.interventions import Setup
from twinrun.launch.program import Program
from twinrun.protocol import Event, Facts, Freeze, Interventions
from twinrun.protocol.intervention import Intervention, of_kind
from twinrun.protocol.registry import source

_MOST_BYTES = 256 << 20
_MOST_FILES = 5000
_LEFT_OUT = (".git", ".venv", "venv", "__pycache__", "node_modules", ".mypy_cache", ".pytest_cache")


@dataclass(frozen=True)
class Copies:
    """Copies of one folder, one for each twin, below `place`."""

    root: Path
    place: Path

    @staticmethod
    def for_freezes(interventions: Interventions, program: Program, place: Path) -> Copies | None:
        """None where no intervention asks for copies. Raises CannotCopy where they cannot be made."""
        freezes = of_kind(Freeze, interventions)
        files = [freeze.file for freeze in freezes if source(freeze.source).copies_folder]
        return Copies(_root(program, files), place) if files else None

    def start(self, name: str, program: Program, setup: Setup) -> tuple[Program, Setup]:
        """A fresh copy for the twin of this name, and what it is started with there."""
        copy = self.place / name
        shutil.copytree(self.root, copy, symlinks=True, ignore=self._left_out)
        inside = _moved(str(Path.cwd()), self.root, copy)
        target = program.target
        if not program.module:
            target = _moved(str(Path(target).absolute()), self.root, copy)
        moved = tuple(_freeze_moved(each, self.root, copy) for each in setup.interventions)
        return replace(program, target=target, cwd=inside), replace(setup, interventions=moved)

    def _left_out(self, folder: str, names: list[str]) -> list[str]:
        """Recordings may be kept below the folder itself: the copies are not copied again."""
        place = self.place.absolute()
        return [name for name in names if name in _LEFT_OUT or Path(folder, name) == place]

    def as_original(self, name: str, facts: Facts) -> Facts:
        """The facts of a twin with the names of the original files."""
        copy = self.place / name

        def back(event: Event) -> Event:
            file, subject = (_moved(path, copy, self.root) for path in (event.file, event.subject))
            return msgspec.structs.replace(event, file=file, subject=subject)

        return msgspec.structs.replace(facts, events=[back(event) for event in facts.events])

    def remove(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)


def _root(program: Program, files: Iterable[str]) -> Path:
    """The folder that holds the program and the files that are to be the same in every run."""
    home = Path.cwd() if program.module else Path(program.target).resolve().parent
    root = Path(os.path.commonpath([home, *(Path(file).absolute() for file in files)]))
    if root in (Path(root.anchor), Path.home(), Path("/tmp")):
        raise CannotCopy(f"the program and its files have no folder of their own in common ({root})")
    size = count = 0
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in _LEFT_OUT]
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118
            count += 1
            size += os.lstat(path).st_size
        if size > _MOST_BYTES or count > _MOST_FILES:
            raise CannotCopy(f"{root} is too large to copy")
    return root


def _moved(path: str, old: Path, new: Path) -> str:
    """The same place below another root; a path that lies elsewhere stays as it is."""
    if path == str(old):
        return str(new)
    return f"{new}{path.removeprefix(str(old))}" if path.startswith(f"{old}{os.sep}") else path


def _freeze_moved(intervention: Intervention, old: Path, new: Path) -> Intervention:
    if not isinstance(intervention, Freeze):
        return intervention
    return msgspec.structs.replace(intervention, file=_moved(intervention.file, old, new))
