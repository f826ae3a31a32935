"""Runs as a node of a cluster makes them, without a cluster."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

from msgspec import structs

from twinrun.engines.gathered import NodeRun
from twinrun.engines.node import MadeRun, Order, make_run
from twinrun.engines.parcel import pack_program, unpack_recording
from twinrun.launch.program import Program
from twinrun.launch.run import RunOptions
from twinrun.launch.view_store import roots_of
from twinrun.recording.manifest import read_manifest


def made(program: Program, **options: Any) -> MadeRun:
    roots = roots_of(program)
    parcel = pack_program(roots)
    digest = hashlib.sha256(parcel).hexdigest()[:16]
    return make_run(Order(RunOptions(program, **options), roots, Path.cwd(), digest), parcel)


def gathered(folder: Path, name: str, run: MadeRun, node: str = "node-1", **key: str) -> NodeRun:
    """The run as it arrives, with this in its environment key."""
    recording = folder / name
    unpack_recording(run.recording, recording)
    if key:
        manifest = read_manifest(recording)
        environment = {**manifest.environment, "key": {**manifest.environment["key"], **key}}
        structs.replace(manifest, environment=environment).write(recording)
    return NodeRun(name, node, f"id of {node}", recording, run.result)


def left_in_tmp() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob("twinrun-ray-*"))
