"""Which commits lie between a baseline and now."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

MOST = 20


def commits_between(then: str | None, now: str | None, folder: Path) -> tuple[list[str], str | None]:
    """(`abc1234 subject` lines, newest first; why they are not known). Nothing between is no lines and no
    reason."""
    if not _is_commit(then) or not _is_commit(now):
        return [], "the baseline or this run was not made from a commit"
    if then == now:
        return [], None
    command = ["git", "log", "--no-decorate", f"--max-count={MOST + 1}", "--format=%h %s", f"{then}..{now}"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return [], f"git could not be asked: {problem}"
    if done.returncode != 0:
        return [], f"the baseline's commit {str(then)[:10]} is not in this clone: fetch the whole history"
    lines = done.stdout.splitlines()
    if len(lines) > MOST:
        lines = [*lines[:MOST], "… and more"]
    behind = f"this run's commit is older than the baseline's ({str(then)[:10]})"
    return lines, None if lines else behind


def _is_commit(text: str | None) -> bool:
    return isinstance(text, str) and re.fullmatch(r"[0-9a-f]{7,64}", text) is not None
