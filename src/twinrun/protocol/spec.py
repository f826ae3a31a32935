"""What the parent tells a twin before it starts. Travels as one JSON file named by an environment variable."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

VARIABLE = "TWINRUN_SPEC"


@dataclass(frozen=True)
class Spec:
    folder: str  # of the recording
    channel_fd: int
    lifeline_fd: int
    program: str
    arguments: tuple[str, ...] = ()
    lockstep: bool = True
    steps: int | None = None
    detail: bool = False
    keep_values: bool = False
    ledger: bool = True
    pythonpath: str | None = None  # as it was before we put ourselves in front
    pin: dict[str, Any] | None = None
    varied: dict[str, str] = field(default_factory=dict)
    experiment: dict[str, Any] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @staticmethod
    def read(path: str) -> Spec:
        document = json.loads(Path(path).read_text())
        document["arguments"] = tuple(document["arguments"])
        return Spec(**document)
