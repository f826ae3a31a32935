"""The message for an internal error: the traceback, and that the fault is Twinrun's. No verdict follows from it."""

from __future__ import annotations

import traceback

from twinrun import __version__

FAULT = (
    f"error: Twinrun {__version__} failed: this is a bug in Twinrun, not in your program, and nothing was judged\n"
    "hint: please report it, with the lines above\n"
)


def internal_error() -> str:
    """The exception that is being handled, and the line that says that it is ours."""
    from twinrun.masking import mask

    return f"{mask(traceback.format_exc())}{FAULT}"
