"""Views: what each twin of a round sees in place of the user's folder. Every twin starts from the same files, what it
writes is its own, and the user's files are as they were when it is over."""

from __future__ import annotations

import filecmp
import os
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from twinrun.launch.interventions import Setup
from twinrun.launch.program import Program
from twinrun.protocol import Facts

Way = Literal["overlay", "copy", "shared"]
WAYS: tuple[Way, ...] = ("overlay", "copy", "shared")  # the best first
Changes = dict[str, Path | None]


@dataclass
class Views:
    """The views of the twins of one round. This class is the last resort: they share the user's folder."""

    roots: tuple[Path, ...]  # none lies below another
    place: Path  # where the files of the views are kept
    patched: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    how: ClassVar[Way] = "shared"

    def start(
        self, name: str, program: Program, setup: Setup, before: str | None = None
    ) -> tuple[Program, Setup]:
        """A view for the twin of this name, and what it is started with. It starts from the user's files, or from
        those that the twin `before` left."""
        return program, setup

    def again(self, name: str, program: Program, setup: Setup) -> tuple[Program, Setup]:
        """What another process is started with in the view of a twin that has ended: with the files that it left."""
        return program, setup

    def folders(self, name: str) -> tuple[str, ...]:
        """The folders that this twin has to itself."""
        return ()

    def holds(self, path: str) -> bool:
        """Whether each twin has this file to itself."""
        return False

    def as_original(self, name: str, facts: Facts) -> Facts:
        """The facts of a twin with the names of the user's files."""
        return facts

    def changes(self, name: str) -> Changes:
        """What the twin changed: the path relative to the folder (absolute where there are two folders), and the file
        as the twin left it, None where it was deleted. Empty where the twins share the folder."""
        found: Changes = {}
        for number, root in enumerate(self.roots):
            for path, left in sorted(self._left(name, number).items()):
                original = root / path
                if _no_result(path) or str(original) in self.patched or _equal(left, original):
                    continue
                found[path if len(self.roots) == 1 else str(original)] = left
        return found

    def written(self, name: str) -> dict[str, tuple[int, int]]:
        """When each file that the twin may have changed was last written, and its size. The twin may be alive."""
        found: dict[str, tuple[int, int]] = {}
        for number, root in enumerate(self.roots):
            for path, left in self._left(name, number).items():
                if left is None or _no_result(path):
                    continue
                with suppress(OSError):  # it has just been removed
                    known = left.lstat()
                    found[str(root / path)] = (known.st_mtime_ns, known.st_size)
        return found

    def _left(self, name: str, number: int) -> Changes:
        """What may have changed below one root."""
        return {}

    def keep(self, names: list[str], folder: Path) -> None:
        """Copies what each twin changed to a folder of its name."""
        for name in names:
            (folder / name).mkdir(parents=True, exist_ok=True)
            for path, left in self.changes(name).items():
                if left is not None:
                    copy = folder / name / path.lstrip(os.sep)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(left, copy, follow_symlinks=False)


def below(path: Path | str, roots: tuple[Path, ...]) -> bool:
    """Whether a path is one of these folders, or lies below one."""
    return any(Path(path).is_relative_to(root) for root in roots)


def _no_result(path: str) -> bool:
    return path.endswith(".pyc") or "__pycache__" in Path(path).parts


def _equal(left: Path | None, original: Path) -> bool:
    """Whether a twin left a file as it was. A link is known by where it points to."""
    try:
        before = original.lstat()
    except OSError:
        return left is None
    if left is None:
        return stat.S_ISDIR(before.st_mode)
    now = left.lstat()
    if stat.S_IFMT(now.st_mode) != stat.S_IFMT(before.st_mode):
        return False
    if stat.S_ISLNK(now.st_mode):
        return left.readlink() == original.readlink()
    with suppress(OSError):  # one of them may not be read
        return stat.S_ISREG(now.st_mode) and filecmp.cmp(left, original, shallow=False)
    return False
