"""The manifest of a recording: program, arguments, environment, controls, and how the run ended. Plain JSON."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from twinrun import __version__
from twinrun.errors import BadRecording

SCHEMA = 1
FILE = "manifest.json"


@dataclass(frozen=True)
class Manifest:
    program: str
    arguments: tuple[str, ...] = ()
    status: str = (
        "running"  # running | ended | stopped (at the step asked for) | held (at a difference) | failed
    )
    exit_code: int | None = None
    started: float = 0.0
    ended: float | None = None
    environment: dict[str, Any] = field(default_factory=dict)
    controls: dict[str, Any] = field(default_factory=dict)
    varied: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    twinrun: str = __version__
    schema: int = SCHEMA

    def write(self, folder: Path) -> None:
        """Atomic: a reader sees the old manifest or the new one, never half of one."""
        partial = folder / f".{FILE}.{os.getpid()}"
        partial.write_text(json.dumps(asdict(self), indent=1, sort_keys=True, default=str) + "\n")
        partial.replace(folder / FILE)

    def but(self, **changes: Any) -> Manifest:
        return replace(self, **changes)


_NUMBER = (int, float)
_NONE = type(None)
_KINDS: dict[str, type | tuple[type, ...]] = {
    "program": str, "arguments": list, "status": str, "exit_code": (int, _NONE), "started": _NUMBER,
    "ended": (*_NUMBER, _NONE), "environment": dict, "controls": dict, "varied": dict, "notes": list, "twinrun": str,
}  # fmt: skip


def read_manifest(folder: Path) -> Manifest:
    path = folder / FILE
    try:
        document = json.loads(path.read_text())
    except FileNotFoundError:
        raise BadRecording(
            f"{folder} is not a recording: it has no {FILE}",
            hint="give the folder that `twinrun run` or `twinrun check` printed",
        ) from None
    except (ValueError, OSError, RecursionError) as problem:
        raise BadRecording(f"{path} cannot be read: {problem}") from None
    if not isinstance(document, dict) or type(document.get("schema")) is not int or document["schema"] < 1:
        raise BadRecording(f"{path} is not the manifest of a recording")
    if document["schema"] > SCHEMA:
        raise BadRecording(
            f"{folder} was written by a newer Twinrun (schema {document['schema']}, this one reads up to {SCHEMA})",
            hint="upgrade twinrun to read it",
        )
    known = {name: document[name] for name in Manifest.__dataclass_fields__ if name in document}
    for name, kinds in _KINDS.items():
        if not isinstance(known.get(name), kinds):
            raise BadRecording(f"{path} is damaged: its {name} makes no sense")
    for name in ("arguments", "notes"):
        known[name] = tuple(known[name])
    return Manifest(**known)
