"""Finds the environment a user means: a recording, a JSON file, a lock, or this machine."""

from __future__ import annotations

from pathlib import Path

from twinrun.environment.capture import capture, installed_framework
from twinrun.environment.child import run_module
from twinrun.environment.environment import Environment, read_json
from twinrun.errors import BadRecording, NotComparable
from twinrun.recording.manifest import recording_in

HERE = ("here", "-", "this-machine")


def environment_of(given: str, *, framework: bool = True) -> Environment:
    """`here`, the folder of a recording, or a JSON file that holds an environment at its top or under
    `environment`."""
    if given in HERE:
        return this_machine(framework=framework)
    path = file_of(given)
    if not path.exists() and path != Path(given):
        raise BadRecording(
            f"{given} is not a recording: it has no manifest.json",
            hint="give the folder that `twinrun run` or `twinrun check` printed, a JSON file, or `here`",
        )
    document = read_json(path, "an environment", hint="give a recording, a JSON file, or `here`")
    if isinstance(document, dict) and isinstance(document.get("environment"), dict):
        document = document["environment"]
    return Environment.from_json(document, where=str(path))


def file_of(given: str) -> Path:
    """The file that is read for what was given: the manifest, where that is the folder of a recording."""
    path = Path(given)
    return recording_in(path) / "manifest.json" if path.is_dir() else path


def this_machine(*, framework: bool = True, timeout: float = 120.0) -> Environment:
    """This machine with its installed framework loaded, in a separate process. Without the framework, its
    packages are known from the names of their folders alone."""
    if not framework or installed_framework() is None:
        return capture(base=Path.cwd())
    documents, ending = run_module("twinrun.environment.capture", timeout=timeout)
    if not documents:
        raise NotComparable(f"the framework could not be loaded: {ending}", hint="try --no-framework")
    return Environment.from_json(documents[-1]["twinrun/environment/1"])
