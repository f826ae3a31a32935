"""The audit of the datasets that a program really builds: it is run, watched, for its first steps and no further."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from twinrun.findings.finding import Finding
from twinrun.launch.lockstep import advance
from twinrun.launch.program import Program
from twinrun.launch.twin_process import Twin, ending

STEPS = 3  # by then the pipelines of a training loop are built
LONGEST = 60.0  # seconds; what was built by then is audited
_MARGIN = 10.0  # seconds left to a twin whose time is up, to tell what it knows


@dataclass(frozen=True)
class DatasetsAudit:
    """What was found in the inputs of one run, and what of them could not be judged."""

    findings: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()
    """Stages of which nothing can be said, each in a line."""
    failures: tuple[str, ...] = ()
    """Why not all inputs were looked at, each in a sentence."""


def audit_datasets(program: str, args: Sequence[str], *, module: bool = False) -> DatasetsAudit | None:
    """The datasets of `python program args…`; None when they were not looked at."""
    place = Path(tempfile.mkdtemp(prefix="twinrun-audit-"))
    twin = Twin(
        "A", Program(program, tuple(args), module), place / "A",
        lockstep=False, steps=STEPS, ledger=False, experiment={"audit_data": time.time() + LONGEST},
    )  # fmt: skip
    try:
        advance([twin], lambda _: False, deadline=time.monotonic() + LONGEST + _MARGIN)
        code = twin.wait(timeout=5.0)
        told = _told(twin.end)
        return told if not code else _failed(told or DatasetsAudit(), twin, code)
    finally:
        twin.kill()
        shutil.rmtree(place, ignore_errors=True)


def _failed(told: DatasetsAudit, twin: Twin, code: int) -> DatasetsAudit:
    """A program that ends badly has inputs that it never came to."""
    said = twin.tail(1)
    why = f"the program {ending(code)} before its third step" + (f": {said}" if said else "")
    return replace(told, failures=(*told.failures, why))


def _told(end: dict[str, Any] | None) -> DatasetsAudit | None:
    """None when the program did not come to its end, or imports no TensorFlow."""
    data = None if end is None else end.get("data")
    if not isinstance(data, dict):
        return None
    rows = [Finding(**{**row, "evidence": tuple(row["evidence"])}) for row in data["findings"]]
    return DatasetsAudit(tuple(rows), tuple(data["unknown"]), tuple(data["failures"]))
