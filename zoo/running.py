"""Runs a command in a folder, and keeps what it prints."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def ran(
    words: Sequence[str], folder: Path, env: Mapping[str, str], limit: float
) -> subprocess.CompletedProcess[str]:
    """Raises subprocess.TimeoutExpired after this many seconds."""
    return subprocess.run(
        words, cwd=folder, env=env, capture_output=True, text=True, timeout=limit, check=False
    )
