"""Git, asked about a folder that somebody else may have made. A repository brings settings of its own, some of which are
commands: none of them is run but its filters, nothing is fetched and nothing is written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

PATIENCE = 20.0  # seconds
_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "safe.bareRepository=explicit",
    "log.showSignature=false",
)
# What is missing in a partial clone is not fetched, over no protocol that there is.
_VARIABLES = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
}


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Git under way. Raises OSError where there is none."""
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    pipes: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(
        ["git", "--no-pager", *settings, *words],
        cwd=folder, env={**os.environ, **_VARIABLES}, text=True, errors="surrogateescape", **pipes,
    )  # fmt: skip


def answer(process: subprocess.Popen[str], patience: float = PATIENCE) -> str | None:
    """What it printed; None where it failed. Raises subprocess.TimeoutExpired."""
    try:
        output, _ = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return output if process.returncode == 0 else None


def ask(folder: Path, *words: str) -> str | None:
    """The answer; None where git is missing, fails, or takes too long."""
    try:
        return answer(start(folder, *words))
    except (OSError, subprocess.TimeoutExpired):
        return None
