"""Where recordings go: outside the program's own folder, so that watching adds no file that it might list."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from itertools import chain, count
from pathlib import Path

from twinrun.errors import CannotWrite

KEPT = 20  # older ones of our own default folder are removed
_IN_USE = 3600.0  # but none that may belong to a check that is still under way


def new_folder(kind: str, chosen: str | None) -> Path:
    """A new, empty folder for one check or run: the one that was asked for, or one of our own."""
    if chosen is not None:
        return _made(must_be_free(Path(chosen), "--dir"))
    root = default_root()
    _prune(root)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    name = f"{kind}-{stamp}-{os.getpid()}"
    names = chain([name], (f"{name}-{number}" for number in count(2)))  # several within one second
    return _made(next(root / name for name in names if not (root / name).exists()))


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


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.write_bytes(b"x")
        probe.unlink()
    except OSError as problem:
        raise CannotWrite(
            f"cannot write to {folder}: {problem.strerror}",
            hint="choose another place with --dir or TWINRUN_HOME",
        ) from None
    return folder.resolve()


def _prune(root: Path) -> None:
    try:
        ours = [entry for kind in ("check", "run") for entry in root.glob(f"{kind}-*") if entry.is_dir()]
        for old in sorted(ours, key=lambda entry: entry.stat().st_mtime)[:-KEPT]:
            if old.stat().st_mtime < time.time() - _IN_USE:
                remove_tree(old)
    except OSError:
        return


def remove_tree(folder: Path) -> None:
    """With what a program, or the kernel, has made unreadable there."""
    for inner, names, _ in os.walk(folder):
        for name in names:
            path = Path(inner, name)
            if not path.is_symlink():
                with contextlib.suppress(OSError):
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
