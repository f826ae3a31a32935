"""What the parent tells a twin before it starts: one JSON file, named by an environment variable."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from twinrun.protocol.intervention import Intervened, Interventions

VARIABLE = "TWINRUN_SPEC"
CHILD = "TWINRUN_CHILD"  # the identity of a process that the program started
Tracing = Literal["", "step", "pipeline"]  # ops of the step, or of the input pipeline as well


class Spec(Intervened, msgspec.Struct, frozen=True):
    folder: str  # of the recording
    channel_fd: int
    program: str
    arguments: tuple[str, ...] = ()  # masked
    show_arguments: bool = False  # those of the processes that the program starts
    output: tuple[int, int] = (0, 0)  # device and inode of the pipe that standard output is
    watched: tuple[str, ...] = ()  # modules of frameworks
    lockstep: bool = True
    steps: int | None = None
    workers: int = 0  # that the twin starts, where it is a cluster
    replicas: int = 0  # devices that a machine without accelerators is to have
    detail: bool = False
    keep_values: bool = False
    keep_child_values: bool = False  # children are compared only at the end
    values_limit: int | None = None  # bytes of values; what comes after them is kept by digest alone
    events: bool = True
    interventions: Interventions = ()
    varied: dict[str, str] = {}  # the settings of this twin, by variation
    tracing: Tracing = ""
    own_folders: tuple[str, ...] = ()  # nothing else writes there
    audit_until: float | None = None  # audit the datasets that the program builds until this time, then stop

    def write(self, path: Path) -> None:
        path.write_bytes(msgspec.json.encode(self))

    @staticmethod
    def read(path: str) -> Spec:
        return msgspec.json.decode(Path(path).read_bytes(), type=Spec)
