"""Views by an overlay file system: each twin gets a mount namespace of its own, in which the user's folders are at the
same paths as ever, and what the twin writes goes elsewhere."""

from __future__ import annotations

import marshal
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from twinrun.launch.folders import remove_tree
from twinrun.launch.interventions import Setup
from twinrun.launch.program import Program
from twinrun.launch.views import Changes, Views, Way, below
from twinrun.twin import enter_view
from twinrun.twin.enter_view import Job, Root

_OPAQUE = ("trusted.overlay.opaque", "user.overlay.opaque")
_LAUNCHER = str(Path(enter_view.__file__).absolute())


@dataclass
class OverlayViews(Views):
    how: ClassVar[Way] = "overlay"
    kept: tuple[Path, ...] = ()  # below the roots, and shared all the same
    # The twins whose files a twin sees, the newest first.
    _layers: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def start(
        self, name: str, program: Program, setup: Setup, before: str | None = None
    ) -> tuple[Program, Setup]:
        self._layers[name] = (name, *(self._layers[before] if before is not None else ()))
        remove_tree(self.place / name)
        for number in range(len(self.roots)):
            self._make(name, number)
        return self.again(name, program, setup)

    def again(self, name: str, program: Program, setup: Setup) -> tuple[Program, Setup]:
        launcher = launched(self._job(self._layers[name]), program.python)
        return replace(program, launcher=launcher), setup

    def _make(self, name: str, number: int) -> None:
        root, upper = self.roots[number], self._upper(name, number)
        _like(root, upper)
        (upper.parent / "work").mkdir()
        for path, text in self.patched.items():
            if below(path, (root,)):
                inside = Path(path).relative_to(root)
                for folder in reversed(inside.parents[:-1]):
                    _like(root / folder, upper / folder)
                (upper / inside).write_text(text, encoding="utf-8")
                shutil.copymode(path, upper / inside)

    def _upper(self, name: str, number: int) -> Path:
        return self.place / name / str(number) / "upper"

    def _job(self, layers: tuple[str, ...]) -> Job:
        def of(number: int, root: Path) -> Root:
            upper, *lower = (self._upper(name, number) for name in layers)
            return _root(root, upper, *lower)

        return _job([of(number, root) for number, root in enumerate(self.roots)], self.kept)

    def folders(self, name: str) -> tuple[str, ...]:
        return tuple(map(str, self.roots))

    def holds(self, path: str) -> bool:
        return below(path, self.roots) and not below(path, self.kept)

    def _left(self, name: str, number: int) -> Changes:
        found: Changes = {}
        for layer in reversed(self._layers.get(name, ())):
            upper = self._upper(layer, number)
            for inner, folders, files in os.walk(upper):
                for entry in (*files, *folders):
                    _note(Path(inner, entry), upper, self.roots[number], found)
        return found


def _note(path: Path, upper: Path, root: Path, found: Changes) -> None:
    """One entry of an upper folder, as it changes what was found in those below it."""
    inside = str(path.relative_to(upper))
    try:
        mode = path.lstat()
    except FileNotFoundError:  # the twin is alive, and has just removed it
        return
    whiteout = stat.S_ISCHR(mode.st_mode) and mode.st_rdev == 0
    if whiteout or (stat.S_ISDIR(mode.st_mode) and _opaque(path)):
        gone = [known for known in found if known == inside or known.startswith(inside + os.sep)]
        found.update(dict.fromkeys([*gone, *_files(root, inside)]))
    elif stat.S_ISREG(mode.st_mode) or stat.S_ISLNK(mode.st_mode):
        found[inside] = path


def _files(root: Path, inside: str) -> Iterable[str]:
    """A file, or all files of a folder."""
    path = root / inside
    if path.is_dir() and not path.is_symlink():
        for folder, _, names in os.walk(path):
            yield from (str(Path(folder, name).relative_to(root)) for name in names)
    else:
        yield inside


def _opaque(folder: Path) -> bool:
    """Whether it replaces the folder of that name, and is not laid over it."""
    for name in _OPAQUE:
        with suppress(OSError):
            if os.getxattr(folder, name) == b"y":
                return True
    return False


def _like(original: Path, made: Path) -> None:
    """A folder with the permissions of another."""
    made.mkdir(parents=True, exist_ok=True)
    shutil.copystat(original, made)
    with suppress(OSError):
        found = original.stat()
        os.chown(made, found.st_uid, found.st_gid)


def _root(root: Path, upper: Path, *lower: Path) -> Root:
    return [*map(str, lower), str(root)], str(upper), str(upper.parent / "work")


def _job(roots: list[Root], kept: Iterable[Path]) -> Job:
    return roots, list(map(str, kept)), os.geteuid() != 0


def launched(job: Job, python: str) -> tuple[str, ...]:
    """The words in front of a command that is to run in the view."""
    return (python, "-I", "-S", _LAUNCHER, marshal.dumps(job).hex())


def overlay_problem(roots: tuple[Path, ...], place: Path) -> str | None:
    """Why the files of views of these folders cannot be kept in this place; None where they can."""
    if below(place, roots):
        return f"{place} lies below it"
    return _tried(roots, _FileSystem(place.stat().st_dev, place))


@dataclass(frozen=True)
class _FileSystem:
    device: int
    place: Path = field(compare=False)  # a folder there


@lru_cache(maxsize=64)
def _tried(roots: tuple[Path, ...], where: _FileSystem) -> str | None:
    """A view is made and left: kernels, containers and file systems differ too much to be asked."""
    made: list[Root] = []
    try:
        for number, root in enumerate(roots):
            upper = where.place / "try" / str(number) / "upper"
            upper.mkdir(parents=True)
            (upper.parent / "work").mkdir()
            made.append(_root(root, upper))
        done = subprocess.run(
            launched(_job(made, submounts(roots)), sys.executable),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20.0, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as problem:
        return str(problem)
    return (done.stderr.strip().rpartition(": ")[2] or "not possible") if done.returncode else None


def submounts(roots: tuple[Path, ...]) -> tuple[Path, ...]:
    """Other file systems that are mounted below these folders: an overlay would show none of them."""
    points: set[Path] = set()
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines():
            name = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), line.split(" ")[4])
            point = Path(os.fsdecode(name.encode("latin-1", "surrogateescape")))
            if below(point, roots) and point not in roots:
                points.add(point)
    return outermost(points)


def outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Without those that lie below another of them."""
    found: list[Path] = []
    for path in sorted(set(paths), key=lambda path: (len(path.parts), path)):
        if not below(path, tuple(found)):
            found.append(path)
    return tuple(found)
