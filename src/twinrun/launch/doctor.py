"""What is pinned, as read back: in a program's own process after its imports and its own settings, or in a
bare process of this machine. The reading is done over there; nothing is imported here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twinrun.errors import TwinrunError
from twinrun.launch.program import Program
from twinrun.protocol.pin import PinRequest
from twinrun.twin.pinning import launch_environment
from twinrun.twin.readback import shortfalls

SCHEMA = "twinrun/doctor/1"


class CannotExamine(TwinrunError):
    """The process that was to be examined did not answer."""


@dataclass(frozen=True)
class Examination:
    subject: str  # which process was read, in words
    controls: dict[str, dict[str, Any]]
    program: str | None = None
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    request: PinRequest | None = None

    @property
    def missing(self) -> list[str]:
        """Controls that are used here and do not hold."""
        return [name for name, entry in self.controls.items() if entry["used"] and not entry["ok"]]

    @property
    def exit_code(self) -> int:
        strict = self.request is not None and self.request.strict
        return 2 if strict and shortfalls(self.controls) else 0

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "subject": self.subject,
            "program": self.program,
            "pin": self.request.as_json() if self.request is not None else None,
            "controls": self.controls,
            "missing": self.missing,
            "notes": list(self.notes),
            "versions": self.versions,
        }


def examine_machine(request: PinRequest | None) -> Examination:
    """A bare process: what a program that sets nothing itself would start with."""
    command = [
        sys.executable,
        "-m",
        "twinrun.frameworks.examine",
        *([str(request)] if request is not None else []),
    ]
    environment = {**os.environ, **(launch_environment(request) if request is not None else {})}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    try:
        document = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise CannotExamine(f"the process to be examined did not answer: {last[0]}") from None
    return Examination(
        "a bare process of this machine",
        document["controls"],
        notes=tuple(document["notes"]),
        versions={name: version for name, version in document["versions"].items() if version},
        request=request,
    )


def examine_program(
    program: Program, request: PinRequest | None, timeout: float | None = None
) -> Examination:
    """The program's own process, when it has made its first training step; or at its end, if it makes
    none."""
    from twinrun.launch.run import RunOptions, run_once

    with tempfile.TemporaryDirectory(prefix="twinrun-doctor-") as folder:
        options = RunOptions(program, steps=1, pin=request, timeout=timeout, folder=str(Path(folder) / "run"))
        result = run_once(options)
    controls = result.facts.get("controls")
    if not controls or "error" in controls:
        why = (
            result.reason
            or (controls or {}).get("error")
            or "it ended without passing through its normal exit"
        )
        raise CannotExamine(f"{program} could not be examined: {why}", hint="does it run with plain python?")
    notes = list(result.facts.get("notes", []))
    when = "after its first training step" if result.steps else "at its end: it made no training step"
    if result.exit_code and result.reason:
        notes.insert(0, result.reason)
    return Examination(
        f"{program}, {when}",
        controls,
        program=str(program),
        notes=tuple(notes),
        request=request,
        versions=_versions(result.facts.get("environment", {})),
    )


def _versions(environment: dict[str, Any]) -> dict[str, str]:
    packages = environment.get("packages", {})
    names = ("tensorflow", "keras", "tf_keras", "tf-keras")
    return {name: str(packages[name]) for name in names if isinstance(packages, dict) and name in packages}
