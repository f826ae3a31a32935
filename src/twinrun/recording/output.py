"""What a program printed, as its recording keeps it: masked, once nothing compares it any more."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from twinrun.masking import Secrets
from twinrun.recording.printed import FILE as WRITERS
from twinrun.recording.printed import OUTPUT

ERRORS = "stderr.txt"
_PIECE = 4 << 20
_LONGEST_KEY = 64 << 10  # lines that may belong to a private key are not torn apart


def mask_output(folder: Path, secrets: Secrets) -> None:
    """Masks the output in every recording of this folder, in place. What cannot be written again is removed, and so is
    who printed what, which is needed no more."""
    for path in sorted(folder.rglob("*")):
        if path.name not in (OUTPUT, ERRORS, WRITERS) or path.is_symlink() or not path.is_file():
            continue
        if path.name == WRITERS or not _masked_in_place(path, secrets):
            with contextlib.suppress(OSError):
                path.unlink()


def _masked_in_place(path: Path, secrets: Secrets) -> bool:
    """Whether that could be done. A file in which nothing is masked stays the same file."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if all(_masked(piece, secrets) == piece for piece in _pieces(path)):
            return True
        with partial.open("wb") as out:
            for piece in _pieces(path):
                out.write(_masked(piece, secrets))
        partial.replace(path)
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
    return True


def _masked(piece: bytes, secrets: Secrets) -> bytes:
    return secrets.mask(piece.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _pieces(path: Path) -> Iterator[bytes]:
    """Whole lines, many at a time."""
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            piece += file.readline(_PIECE)
            if piece.rfind(b"-----BEGIN") > piece.rfind(b"-----END"):
                for line in iter(lambda: file.readline(_LONGEST_KEY), b""):
                    piece += line
                    if b"-----END" in line or len(piece) > 2 * _PIECE + _LONGEST_KEY:
                        break
            yield piece
