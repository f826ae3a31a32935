"""Views by copying: each twin runs in a copy of the user's folders, at another path, where no overlay is possible."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from twinrun.errors import CannotWrite
from twinrun.findings.finding import Finding
from twinrun.launch.folders import remove_tree
from twinrun.launch.interventions import Setup
from twinrun.launch.program import Program
from twinrun.launch.views import Changes, Views, Way
from twinrun.protocol import Event, Facts, Freeze
from twinrun.protocol.intervention import Intervention
from twinrun.recording.writing import HINT, writing

_MOST_BYTES = 256 << 20
_MOST_FILES = 5000
LARGE = (".git", ".venv", "venv", "node_modules")  # large, and not written by a training program
LEFT_OUT = ("__pycache__", ".mypy_cache", ".pytest_cache")
_FICLONE = 0x40049409  # share the blocks of a file until one of the two is written, where the file system can


@dataclass
class CopyViews(Views):
    how: ClassVar[Way] = "copy"

    def start(
        self, name: str, program: Program, setup: Setup, before: str | None = None
    ) -> tuple[Program, Setup]:
        remove_tree(self.place / name)
        for number, root in enumerate(self.roots):
            self._make(root if before is None else self._copy(before, number), self._copy(name, number))
        for path, text in self.patched.items():
            Path(self._moved(path, name)).write_text(text, encoding="utf-8")
        return self.again(name, program, setup)

    def again(self, name: str, program: Program, setup: Setup) -> tuple[Program, Setup]:
        target = program.target
        if not program.module:
            target = self._moved(str(Path(target).resolve()), name)
        moved = tuple(self._freeze_moved(each, name) for each in setup.interventions)
        inside = self._moved(str(Path.cwd()), name)
        return replace(program, target=target, cwd=inside), replace(setup, interventions=moved)

    def _copy(self, name: str, number: int) -> Path:
        return self.place / name / str(number)

    def _make(self, original: Path, copy: Path) -> None:
        def left_out(folder: str, names: list[str]) -> list[str]:
            """Recordings, and with them the copies, may be kept below the folder itself."""
            ours = {path.name for path in (self.place, self.place.parent) if path.parent == Path(folder)}
            left = {*LEFT_OUT, *LARGE, *ours}
            return [name for name in names if name in left or not _readable(Path(folder, name))]

        with writing(copy):
            try:
                shutil.copytree(original, copy, symlinks=True, ignore=left_out, copy_function=_clone)
            except shutil.Error as problems:  # of one file or more
                _, path, why = problems.args[0][0]
                raise CannotWrite(f"cannot write {path}: {why.rpartition('] ')[2]}", hint=HINT) from None
        for folder, names in _linked(original):
            for name in names:
                (copy / folder.relative_to(original) / name).symlink_to(folder / name)

    def folders(self, name: str) -> tuple[str, ...]:
        return tuple(str(self._copy(name, number)) for number in range(len(self.roots)))

    def holds(self, path: str) -> bool:
        return any(Path(path).is_relative_to(root) for root in self.roots)

    def as_original(self, name: str, facts: Facts) -> Facts:
        def original(path: str) -> str:
            for number, root in enumerate(self.roots):
                path = moved(path, self._copy(name, number), root)
            return path

        def event(found: Event) -> Event:
            return msgspec.structs.replace(found, file=original(found.file), subject=original(found.subject))

        def finding(found: Finding) -> Finding:
            return replace(found, file=original(found.file)) if found.file else found

        inputs, datasets = facts.inputs, facts.datasets
        if datasets is not None:
            datasets = msgspec.structs.replace(datasets, findings=tuple(map(finding, datasets.findings)))
        lists: dict[str, Any] = {
            field: [original(path) for path in getattr(inputs, field)]
            for field in ("paths", "changed", "fresh")
        }
        controls = {
            name: msgspec.structs.replace(state, place=state.place and original(state.place))
            for name, state in facts.controls.items()
        }
        return msgspec.structs.replace(
            facts,
            controls=controls,
            events=[event(found) for found in facts.events],
            inputs=msgspec.structs.replace(inputs, **lists),
            datasets=datasets,
        )

    def _left(self, name: str, number: int) -> Changes:
        root, copy = self.roots[number], self._copy(name, number)
        recordings = self.place.parent  # may lie below the folder
        before = {path for path in _files(root) if not (root / path).is_relative_to(recordings)}
        now = set(_files(copy))
        return {**dict.fromkeys(before - now), **{path: copy / path for path in now}}

    def _moved(self, path: str, name: str) -> str:
        for number, root in enumerate(self.roots):
            path = moved(path, root, self._copy(name, number))
        return path

    def _freeze_moved(self, intervention: Intervention, name: str) -> Intervention:
        if not isinstance(intervention, Freeze):
            return intervention
        return msgspec.structs.replace(intervention, file=self._moved(intervention.file, name))


def copy_problem(roots: tuple[Path, ...]) -> str | None:
    """Why these folders cannot be copied; None where they can."""
    size = count = 0
    for root in roots:
        if root in (Path(root.anchor), Path.home().resolve(), Path(tempfile.gettempdir()).resolve()):
            return f"{root} is not the program's own folder"
        for path in _files(root):
            count += 1
            with contextlib.suppress(OSError):
                size += (root / path).lstat().st_size
            if size > _MOST_BYTES or count > _MOST_FILES:
                return f"{root} is too large to copy"
    return None


def _files(root: Path) -> Iterator[str]:
    """All that is copied, relative to the folder."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (*LEFT_OUT, *LARGE)]
        yield from (str(Path(folder, name).relative_to(root)) for name in names)


def _linked(root: Path) -> Iterator[tuple[Path, list[str]]]:
    for folder, folders, _ in os.walk(root):
        yield Path(folder), [name for name in folders if name in LARGE]
        folders[:] = [name for name in folders if name not in (*LEFT_OUT, *LARGE)]


def _readable(path: Path) -> bool:
    return path.is_symlink() or os.access(path, os.R_OK)


def _clone(original: str, copy: str) -> str:
    if not Path(original).is_file():  # a pipe or a socket
        return copy
    with Path(original).open("rb") as source, Path(copy).open("wb") as target:
        try:
            fcntl.ioctl(target.fileno(), _FICLONE, source.fileno())
        except OSError:
            shutil.copyfileobj(source, target, 1 << 20)
    shutil.copystat(original, copy)
    return copy


def moved(path: str, old: Path, new: Path) -> str:
    """The same place below another root; a path that lies elsewhere stays as it is."""
    if path == str(old):
        return str(new)
    return f"{new}{path.removeprefix(str(old))}" if path.startswith(f"{old}{os.sep}") else path
