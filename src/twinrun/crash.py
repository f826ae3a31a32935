"""What is said when Twinrun itself breaks: the traceback, and whose fault it is. No verdict follows from it."""

from __future__ import annotations

import traceback

from twinrun import __version__

FAULT = (
    f"error: Twinrun {__version__} broke: this is a fault of Twinrun, not of your program, and nothing was judged\n"
    "hint: please report it, with the lines above\n"
)


def told() -> str:
    """The exception that is being handled, and the line that says that it is ours."""
    return f"{traceback.format_exc()}{FAULT}"
