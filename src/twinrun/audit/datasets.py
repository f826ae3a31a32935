"""The audit of the datasets that a program really builds: it is run, watched, for its first steps and no further."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twinrun.findings.finding import Finding
from twinrun.launch.lockstep import advance
from twinrun.launch.program import Program
from twinrun.launch.twin import Twin

STEPS = 3  # by then the pipelines of a training loop are built
LONGEST = 60.0  # seconds; what was built by then is audited


def audit_datasets(program: str, args: Sequence[str], *, module: bool = False) -> list[Finding] | None:
    """Findings about the datasets of `python program args…`; None when they were not looked at."""
    place = Path(tempfile.mkdtemp(prefix="twinrun-audit-"))
    twin = Twin(
        "A", Program(program, tuple(args), module), place / "A",
        lockstep=False, steps=STEPS, ledger=False, experiment={"audit_data": True},
    )  # fmt: skip
    try:
        advance([twin], lambda _: False, deadline=time.monotonic() + LONGEST)
        twin.wait(timeout=5.0)
        return _findings(twin.end)
    finally:
        twin.kill()
        shutil.rmtree(place, ignore_errors=True)


def _findings(end: dict[str, Any] | None) -> list[Finding] | None:
    """None when the program did not come to its end, or to its third step, or imports no TensorFlow."""
    if end is None or not isinstance(end.get("data"), list):
        return None
    return [Finding(**{**row, "evidence": tuple(row["evidence"])}) for row in end["data"]]
