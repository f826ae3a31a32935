"""Writing where there may be no room or no permission: one error in words, with the path, whichever call met it."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twinrun.errors import CannotWrite

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
HINT = "free some room (twinrun clean), or choose another place with --dir or TWINRUN_HOME"


@contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Around writing one file or folder."""
    try:
        yield
    except OSError as problem:
        raise CannotWrite(f"cannot write {path}: {problem.strerror or problem}", hint=HINT) from None
    except sqlite3.Error as problem:
        raise CannotWrite(f"cannot write {path}: {problem}", hint=HINT) from None


@contextmanager
def filling(place: Path | str) -> Iterator[None]:
    """Around all that is done below a place. A disk that is full is met by any call there."""
    try:
        yield
    except OSError as problem:
        if problem.errno not in NO_ROOM:
            raise
        path = problem.filename or place
        raise CannotWrite(f"cannot write {os.fsdecode(path)}: {problem.strerror}", hint=HINT) from None
