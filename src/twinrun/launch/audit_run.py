"""Runs a program for its first steps to audit the datasets that it really builds."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from twinrun.launch.lockstep import advance
from twinrun.launch.program import Program
from twinrun.launch.twin_process import Twin, ending
from twinrun.source_audit.audit_result import DatasetsAudit

STEPS = 3  # by then the pipelines of a training loop are built
LONGEST = 60.0  # seconds; what was built by then is audited
_MARGIN = 10.0  # seconds for a twin whose time is up to report what it knows


def audit_datasets(program: str, args: Sequence[str], *, module: bool = False) -> DatasetsAudit | None:
    """The audit of the datasets of `python program args…`; None when they were not looked at."""
    place = Path(tempfile.mkdtemp(prefix="twinrun-audit-"))
    twin = Twin(
        "A", Program(program, tuple(args), module), place / "A",
        lockstep=False, steps=STEPS, events=False, audit_until=time.time() + LONGEST,
    )  # fmt: skip
    try:
        advance([twin], lambda _: False, deadline=time.monotonic() + LONGEST + _MARGIN)
        code = twin.wait(timeout=5.0)
        reported = _reported(twin)
        return reported if not code else _failed(reported or DatasetsAudit(), twin, code)
    finally:
        twin.kill()
        shutil.rmtree(place, ignore_errors=True)


def _failed(reported: DatasetsAudit, twin: Twin, code: int) -> DatasetsAudit:
    """A program that fails has inputs that it never got to."""
    output = twin.tail(1)
    why = f"the program {ending(code)} before its third step" + (f": {output}" if output else "")
    return replace(reported, failures=(*reported.failures, why))


def _reported(twin: Twin) -> DatasetsAudit | None:
    """None when the program did not come to its end, or imports no framework with datasets."""
    seen = None if twin.end is None else twin.end.facts.datasets
    return None if seen is None else msgspec.convert(seen, DatasetsAudit)
