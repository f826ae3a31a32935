"""Files that only a framework can read, such as checkpoints: read by a process of its own, since the parent imports no
framework."""

from __future__ import annotations

import fnmatch
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from twinrun.comparison.contents import Contents
from twinrun.protocol.registry import frameworks

_PATIENCE = 300.0


def read_by_frameworks(name: str, paths: Sequence[Path]) -> Sequence[Contents] | None:
    """The contents as a framework reads them. None where none knows files of this name, or can read these."""
    for framework in frameworks():
        if framework.file_reader and any(fnmatch.fnmatch(name, each) for each in framework.file_patterns):
            command = [sys.executable, "-m", framework.file_reader, *map(str, paths)]
            try:
                done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=True)
                return msgspec.json.decode(done.stdout, type=list[Contents])
            except (subprocess.SubprocessError, OSError, msgspec.DecodeError):
                return None
    return None
