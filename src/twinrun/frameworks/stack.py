"""The stack of this thread, for what only a caller knows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType


def frames() -> Iterator[FrameType]:
    """Innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
