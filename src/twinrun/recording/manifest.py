"""The manifest of a recording: program, arguments, environment, controls, and how the run ended. Plain JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import msgspec

from twinrun import __version__
from twinrun.errors import BadRecording

SCHEMA = 1
FILE = "manifest.json"


class Manifest(msgspec.Struct, frozen=True):
    """`status` is running, ended, stopped (at the step asked for), held (at a difference) or failed."""

    program: str
    arguments: tuple[str, ...] = ()
    status: str = "running"
    exit_code: int | None = None
    started: float = 0.0
    ended: float | None = None
    environment: dict[str, Any] = {}
    controls: dict[str, Any] = {}
    varied: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    twinrun: str = __version__
    schema: Annotated[int, msgspec.Meta(ge=1)] = SCHEMA

    def write(self, folder: Path) -> None:
        """Atomic: a reader sees the old manifest or the new one, never half of one."""
        partial = folder / f".{FILE}.{os.getpid()}"
        document = msgspec.to_builtins(self, enc_hook=str)
        partial.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
        partial.replace(folder / FILE)


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
    if isinstance(document, dict):
        must_be_known(folder, document.get("schema"))
    try:
        return msgspec.convert(document, Manifest)
    except msgspec.ValidationError as problem:
        raise BadRecording(f"{path} is not the manifest of a recording: {problem}") from None


def must_be_known(path: Path, schema: object) -> None:
    """Refuse what a newer Twinrun has written."""
    if isinstance(schema, int) and schema > SCHEMA:
        raise BadRecording(
            f"{path} was written by a newer Twinrun (schema {schema}, this one reads up to {SCHEMA})",
            hint="upgrade twinrun to read it",
        )
