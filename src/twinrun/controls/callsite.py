"""The line of the user's own code behind a call: the nearest frame that is neither the standard library, nor
an installed package, nor Twinrun itself."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from types import FrameType

_OWN = str(Path(__file__).resolve().parent.parent)
_FOREIGN = tuple(
    sorted(
        {str(Path(path).resolve()) for key, path in sysconfig.get_paths().items() if "lib" in key} | {_OWN}
    )
)


def is_users(file: str) -> bool:
    if file.startswith("<"):
        return file.startswith(("<stdin>", "<ipython-input"))
    resolved = str(Path(file).resolve())
    return not resolved.startswith(_FOREIGN) and "site-packages" not in resolved


def user_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return frame
        frame = frame.f_back
    return None


def user_site() -> tuple[str, int] | None:
    frame = user_frame()
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def user_place() -> str | None:
    site = user_site()
    return None if site is None else f"{site[0]}:{site[1]}"
