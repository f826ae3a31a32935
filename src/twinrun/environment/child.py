"""Runs a module that needs the framework, or a tracker, in a process of its own: the parent imports none. Nothing is imported
from the working folder, which may be anybody's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from twinrun.errors import NotComparable

# As `python -m` does, but for the working folder at the head of the path.
_RUN = "import sys; del sys.path[0], sys.argv[0]; import runpy; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"


def run_module(
    module: str,
    *arguments: str,
    timeout: float,
    variables: Mapping[str, str] | None = None,
    what: str = "the framework",
) -> tuple[list[Any], str]:
    """The JSON documents that it printed, one on a line, and how it ended. `what` is needed for it, and named where it could
    not be run."""
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **(os.environ if variables is None else variables)}
    command = [sys.executable, "-c", _RUN, module, *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotComparable(f"{what} gave no answer within {timeout:g} s") from None
    except OSError as problem:
        raise NotComparable(f"{what} could not be run: {problem}") from None
    documents = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]
    if done.returncode < 0:
        return documents, signal.Signals(-done.returncode).name
    return documents, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
