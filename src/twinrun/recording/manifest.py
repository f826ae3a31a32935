"""The manifest of a recording: program, arguments, environment, controls, how the run ended, and what its frames must add
up to. Plain JSON with a checksum."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from twinrun import __version__, untrusted
from twinrun.errors import BadRecording
from twinrun.masking import Masked
from twinrun.recording.writing import writing

SCHEMA = 3
FILE = "manifest.json"
_CHECKED_SINCE = 2  # the schema from which on every manifest has a checksum

Status = Literal["running", "ended", "stopped", "held", "cut-off", "failed"]


class Seal(msgspec.Struct, frozen=True):
    """What the file of frames was when it was closed: how many frames, the chain of the last one, and a digest of the
    file's bytes."""

    frames: int
    chain: str
    digest: str


class Manifest(Masked, msgspec.Struct, frozen=True):
    """`status` is running, ended, stopped (at the step asked for), held (by the judge, at a difference), failed, or cut-off:
    by a signal, a timeout, an interrupted check or a full disk. A run whose parent was killed too stays running."""

    AS_IS: ClassVar[tuple[str, ...]] = ("arguments", "status", "twinrun")  # arguments are masked one by one
    program: str
    arguments: tuple[str, ...] = ()
    status: Status = "running"
    exit_code: int | None = None
    started: float = 0.0
    ended: float | None = None
    environment: dict[str, Any] = {}
    controls: dict[str, Any] = {}
    varied: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    seal: Seal | None = None
    unrepeatable: str | None = None  # why no run of the program can repeat another
    replicated: dict[str, Any] | None = None  # training on the replicas of this process; see Facts
    twinrun: str = __version__
    schema: Annotated[int, msgspec.Meta(ge=1)] = SCHEMA

    @property
    def failed(self) -> bool:
        """The program itself ended badly."""
        return self.status == "failed" or (self.status == "ended" and self.exit_code not in (0, None))

    @property
    def missing_end(self) -> str | None:
        """Why the recording does not show how its program ends; None where it does, or ends at the step asked for."""
        if self.failed:
            return "failed"
        unfinished = {
            "running": "was cut off, or is still running",
            "cut-off": "was cut off",
            "held": "was held at a difference",
        }
        return unfinished.get(self.status)

    def write(self, folder: Path) -> None:
        """Atomic: a reader sees the old manifest or the new one, never half of one."""
        partial = folder / f".{FILE}.{os.getpid()}"
        document = json.loads(json.dumps(msgspec.to_builtins(self, enc_hook=str)))
        document["checksum"] = checksum(document)
        try:
            with writing(folder / FILE):
                partial.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
                partial.replace(folder / FILE)
        finally:
            partial.unlink(missing_ok=True)


def recording_in(folder: Path) -> Path:
    """The folder itself; or the recording of the first twin, where it is the folder of a check or run."""
    first = folder / "A"
    return first if not (folder / FILE).exists() and (first / FILE).is_file() else folder


def read_manifest(folder: Path) -> Manifest:
    path = folder / FILE
    try:
        document = untrusted.read_json(path)
    except FileNotFoundError:
        raise BadRecording(
            f"{folder} is not a recording: it has no {FILE}",
            hint="give the folder that `twinrun run` or `twinrun check` printed",
        ) from None
    except (ValueError, OSError) as problem:
        raise BadRecording(f"{path} cannot be read: {problem}") from None
    if isinstance(document, dict):
        must_be_known(folder, document.get("schema"))
    try:
        manifest = msgspec.convert(document, Manifest)
    except ValueError as problem:  # also where a text cannot be encoded
        raise BadRecording(f"{path} is not the manifest of a recording: {problem}") from None
    wanted = document.get("checksum")
    if wanted != checksum(document) and (wanted is not None or manifest.schema >= _CHECKED_SINCE):
        raise BadRecording(
            f"{path} is damaged or was edited: its checksum does not match", hint="record the run again"
        )
    return manifest


def checksum(document: Mapping[str, Any]) -> str:
    """A checksum of everything else, in canonical form: spaces and line ends may change, content may not."""
    rest = {name: value for name, value in document.items() if name != "checksum"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def must_be_known(path: Path, schema: object) -> None:
    """Refuse what a newer Twinrun has written."""
    if isinstance(schema, int) and schema > SCHEMA:
        raise BadRecording(
            f"{path} was written by a newer Twinrun (schema {schema}, this one reads up to {SCHEMA})",
            hint="upgrade twinrun to read it",
        )
