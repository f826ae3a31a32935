"""Files that are written whole or not at all, whatever happens to this process or the machine."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from twinrun.errors import CannotWrite

# A file that can be written to, where none can be made beside it or put in its place: a single file that is mounted, say.
_ONLY_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EBUSY)


def write_whole(path: Path, text: str) -> None:
    """Makes the folder too."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
    except OSError as problem:
        raise CannotWrite(f"cannot write {path}: {problem.strerror or problem}") from None


def replace_file(path: Path, content: bytes) -> None:
    """May raise OSError. A link stays one. What is no regular file, a device or a pipe, is written to as it is."""
    if not is_place(path):
        path.write_bytes(content)
        return
    target = Path(os.path.realpath(path))
    mode = target.stat().st_mode if target.exists() else None
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        _replace(target, content, mode)
    except OSError as problem:
        if mode is None or problem.errno not in _ONLY_IN_PLACE:
            raise
        target.write_bytes(content)


def is_place(path: Path) -> bool:
    """Whether a regular file is there or can be: a device or a pipe is none, nor is /dev/stdout, the name of an open file."""
    names = [path, *([path.parent / path.readlink()] if path.is_symlink() else [])]
    is_open = any(os.path.realpath(name.parent).startswith("/proc/") for name in names)
    return not path.exists() or (path.is_file() and not is_open)


def _replace(target: Path, content: bytes, mode: int | None) -> None:
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with partial.open("wb") as out:
            if mode is not None:
                os.fchmod(out.fileno(), stat.S_IMODE(mode))
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        partial.replace(target)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
