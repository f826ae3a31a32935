"""A program that fails when it is started again: on what the stopped run left, or on something that the machine lacked then."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

from twinrun.launch.second_looks import resource_failure
from twinrun.launch.twin_process import ending
from twinrun.protocol import Facts
from twinrun.protocol.registry import frameworks

# What no file that a program leaves brings about, whatever file the message names.
_LACKING = re.compile(
    "|".join(
        re.escape(os.strerror(number))
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
    )
    + r"|out of memory|\bOOM\b",
    re.IGNORECASE,
)
_ELSEWHERE = {"MemoryError", "ConnectionError", "TimeoutError", "URLError"}
_NAMED = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"|(/[^\s'\",:;]+)")


def lacking(code: int, facts: Facts, apart: Callable[[str], bool]) -> str | None:
    """Why it may have failed on something else than what the stopped run left, in words. None where nothing says so: where the
    exception is not about a resource, names a file or folder that each run has to itself (`apart`), whose state is what the
    stopped run made of it, or is about what some file holds."""
    if code < 0:
        return ending(code)
    failure = facts.failure
    if failure is None or not (kind := resource_failure([facts])):
        return None
    what = f"{kind}: {first_line(failure.text)}"
    peers = {each for framework in frameworks() for each in framework.peer_errors}
    if not (_ELSEWHERE | peers).isdisjoint(failure.kinds) or _LACKING.search(failure.text):
        return what
    named = [Path(path) for path in _paths(failure.text)]
    if any(apart(str(path.absolute())) for path in named):
        return None
    return what if "[Errno" in failure.text or any(path.is_absolute() for path in named) else None


def first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "")[:300]


def _paths(text: str) -> list[str]:
    """What looks like a path in a message."""
    found = [next(filter(None, groups)) for groups in _NAMED.findall(text)]
    return [path for path in found if Path(path).name]
