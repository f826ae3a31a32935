"""Finds the environment a user means: a recording, a file, a lock, or this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from twinrun.environment.capture import DESCRIBERS, capture
from twinrun.environment.environment import Environment
from twinrun.errors import BadRecording, NotComparable

HERE = ("here", "-", "this-machine")
_CHILD = "twinrun.environment.child"


def environment_of(given: str) -> Environment:
    """`here`, the folder of a recording, or a JSON file that holds an environment at its top or under
    `environment`."""
    if given in HERE:
        return this_machine()
    path = Path(given)
    manifest = path / "manifest.json"
    if path.is_dir():
        if not manifest.exists():
            raise BadRecording(
                f"{given} is not a recording: it has no manifest.json",
                hint="give the folder that `twinrun run` or `twinrun check` printed, a JSON file, or `here`",
            )
        path = manifest
    return Environment.from_json(_inner(_read(path)), where=str(path))


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadRecording(f"there is no {path}", hint="give a recording, a JSON file, or `here`") from None
    except (OSError, ValueError) as problem:
        raise BadRecording(f"{path} cannot be read: {problem}") from None


def _inner(document: Any) -> Any:
    if isinstance(document, dict) and isinstance(document.get("environment"), dict):
        return document["environment"]
    return document


def this_machine(*, framework: bool = True, timeout: float = 120.0) -> Environment:
    """This machine with its installed framework loaded, in a process of its own; without it, from the folder
    names alone."""
    if not framework or not _installed_framework():
        return capture(base=Path.cwd())
    command = [sys.executable, "-m", _CHILD]
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=environment, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise NotComparable(
            f"the framework could not be asked: {problem}", hint="try --no-framework"
        ) from None
    for line in reversed(done.stdout.splitlines()):
        if line.startswith('{"twinrun/environment'):
            return Environment.from_json(json.loads(line)["twinrun/environment/1"])
    last = (done.stderr.strip().splitlines() or ["no output"])[-1]
    raise NotComparable(f"the framework could not be loaded: {last}", hint="try --no-framework")


def _installed_framework() -> bool:
    from importlib.util import find_spec

    return any(find_spec(name) is not None for name in DESCRIBERS)
