"""What kept a twin from being recorded, in the words of a message to its parent."""

from __future__ import annotations

import traceback

from twinrun.errors import CannotWrite, MissingPoint, NoDevice, TwinrunError
from twinrun.protocol.messages import Trouble
from twinrun.recording.writing import HINT, NO_ROOM


def describe(problem: BaseException | str, folder: str) -> Trouble:
    """Trouble as it is reported to the parent: in words where it was foreseen, with a traceback where not. `folder` is
    that of the recording."""
    if isinstance(problem, TwinrunError):
        missing = problem.where if isinstance(problem, MissingPoint) else None
        return Trouble(
            problem.message, problem.hint, missing_point=missing,
            cannot_write=isinstance(problem, CannotWrite), no_device=isinstance(problem, NoDevice),
        )  # fmt: skip
    if isinstance(problem, OSError) and problem.errno in NO_ROOM:
        path = problem.filename or folder
        return Trouble(f"cannot write {path}: {problem.strerror}", HINT, cannot_write=True)
    if isinstance(problem, OSError) and problem.filename is not None:
        return Trouble(f"{problem.filename}: {problem.strerror}")
    trace = "".join(traceback.format_exception(problem)) if isinstance(problem, Exception) else None
    return Trouble(str(problem), traceback=trace)
