"""Where recordings go: outside the program's own folder, so that watching adds no file that it might list. The default
folder has a limit, and the oldest recordings make room for new ones."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from twinrun.errors import CannotWrite
from twinrun.launch.output import shorten_outputs
from twinrun.masking import NO_SECRETS, Secrets
from twinrun.recording.output import mask_output
from twinrun.recording.values import drop_values
from twinrun.recording.writing import HINT, filling, writing
from twinrun.sizes import parse_size, size_in_words

LIMIT = 5_000_000_000  # bytes of our own default folder
_VARIABLE = "TWINRUN_STATE_LIMIT"
_MOST = 1000  # recordings there: each is looked at whenever there is a new one
_OURS = ("check-*", "resume-*", "run-*", "twinrun-views-*")
_KEEP = ".keep"  # a file of a recording that is not removed to make room


@dataclass(frozen=True)
class Place:
    """The folder of one check or run. `notes` say what was removed to make room for it."""

    folder: Path
    notes: tuple[str, ...] = ()


@contextmanager
def recordings(
    kind: str, chosen: str | None, *, keep: bool = False, secrets: Secrets | None = NO_SECRETS
) -> Iterator[Place]:
    """A new, empty folder: the one that was asked for, or one of our own. As long as this lasts, nobody takes it for an
    old one. In the end, what programs printed there is masked; without `secrets`, it is left as it is."""
    place, held = _own(kind, keep) if chosen is None else _chosen(chosen)
    try:
        with filling(place.folder):
            try:
                yield place
            finally:
                shorten_outputs(place.folder)
                if secrets is not None:
                    mask_output(place.folder, secrets)
                if kind == "check":  # compared by now, and nobody has asked for them
                    drop_values(place.folder)
    finally:
        held.close()


def _chosen(folder: str) -> tuple[Place, Hold]:
    made = _made(must_be_free(Path(folder), "--dir"))
    return Place(made), Hold(made)


def _own(kind: str, keep: bool) -> tuple[Place, Hold]:
    root, limit = default_root(), state_limit()
    with contextlib.suppress(OSError):
        root.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(Hold(root, alone=True)):  # no two make room at a time
        removed = prune(root, limit=limit)
        stamp = time.strftime("%Y%m%d-%H%M%S")
        name = f"{kind}-{stamp}-{os.getpid()}"
        names = chain([name], (f"{name}-{number}" for number in count(2)))  # several within one second
        folder = _made(next(root / name for name in names if not (root / name).exists()))
        held = Hold(folder)
    if keep:
        with writing(folder):
            (folder / _KEEP).touch()
    notes = [f"{said(removed)} to keep {root} below {size_in_words(limit)}"] if removed else []
    return Place(folder, tuple(notes)), held


def must_be_free(folder: Path, option: str) -> Path:
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise CannotWrite(f"{folder} is not empty", hint=f"give {option} a new or an empty folder")
    return folder


def default_root() -> Path:
    home = os.environ.get("TWINRUN_HOME")
    if home:
        return Path(home)
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "twinrun"


def state_limit() -> int:
    """The limit of the default folder, in bytes."""
    return parse_size(_VARIABLE, os.environ.get(_VARIABLE) or LIMIT)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.write_bytes(b"x")
        probe.unlink()
    except OSError as problem:
        raise CannotWrite(f"cannot write to {folder}: {problem.strerror}", hint=HINT) from None
    return folder.resolve()


class Hold:
    """A lock on a folder, which ends with this process, however that ends. Many may hold a folder; `alone` waits until
    nobody else does, or with `now` does not wait. `taken` tells whether it was got: some file systems have no locks."""

    def __init__(self, folder: Path, *, alone: bool = False, now: bool = False) -> None:
        self._descriptor: int | None = None
        self.taken = False
        how = (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | (fcntl.LOCK_NB if now else 0)
        with contextlib.suppress(OSError):
            self._descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(self._descriptor, how)
            self.taken = True

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor, self.taken = None, False


@dataclass(frozen=True)
class Recorded:
    """A check or run of the default folder."""

    folder: Path
    time: float
    nbytes: int
    kept: bool


def recorded(root: Path) -> list[Recorded]:
    """All of them, the oldest first."""
    found = []
    for pattern in _OURS:
        for folder in root.glob(pattern):
            with contextlib.suppress(OSError):  # somebody else has just removed it
                if folder.is_dir() and not folder.is_symlink():
                    when = folder.stat().st_mtime
                    found.append(Recorded(folder, when, _disk_usage(folder), (folder / _KEEP).exists()))
    return sorted(found, key=lambda each: each.time)


def prune(
    root: Path, *, limit: int = LIMIT, newest: int = _MOST, everything: bool = False, dry_run: bool = False
) -> list[Recorded]:
    """Remove all but the `newest`, and the oldest of these until the rest is within the limit; `everything` removes all,
    those to keep too. None that a check or run is using. Returns what was removed."""
    known = recorded(root)
    total = sum(each.nbytes for each in known)
    removed: list[Recorded] = []
    for number, each in enumerate(known):
        wanted = everything or (not each.kept and (total > limit or number < len(known) - newest))
        if wanted and _removed(each.folder, dry_run):
            removed.append(each)
            total -= each.nbytes
    return removed


def _removed(folder: Path, dry_run: bool) -> bool:
    with contextlib.closing(Hold(folder, alone=True, now=True)) as unused:
        if unused.taken and not dry_run:
            remove_tree(folder)
        return unused.taken and (dry_run or not folder.exists())


def _disk_usage(folder: Path) -> int:
    total = 0
    for inner, _, names in os.walk(folder):
        for path in (Path(inner), *(Path(inner, name) for name in names)):
            with contextlib.suppress(OSError):
                total += path.lstat().st_blocks * 512
    return total


def said(removed: list[Recorded]) -> str:
    """What was removed, in words."""
    some = f"{len(removed)} old recordings" if len(removed) > 1 else f"the recording {removed[0].folder.name}"
    return f"removed {some} ({size_in_words(sum(each.nbytes for each in removed))})"


def remove_tree(folder: Path) -> None:
    """Remove a folder, including what a program or the kernel has made unreadable there."""
    for inner, names, _ in os.walk(folder):
        for name in names:
            path = Path(inner, name)
            if not path.is_symlink():
                with contextlib.suppress(OSError):
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
