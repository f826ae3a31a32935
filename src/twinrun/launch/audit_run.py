"""The audit of the datasets that a program really builds: it is run, watched, for its first steps and no further."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

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
        lockstep=False, steps=STEPS, events=False, audit_until=time.time() + LONGEST,
    )  # fmt: skip
    try:
        advance([twin], lambda _: False, deadline=time.monotonic() + LONGEST + _MARGIN)
        code = twin.wait(timeout=5.0)
        audited = _audited(twin)
        return audited if not code else _failed(audited or DatasetsAudit(), twin, code)
    finally:
        twin.kill()
        shutil.rmtree(place, ignore_errors=True)


def _failed(audited: DatasetsAudit, twin: Twin, code: int) -> DatasetsAudit:
    """A program that ends badly has inputs that it never reached."""
    last = twin.tail(1)
    why = f"the program {ending(code)} before its third step" + (f": {last}" if last else "")
    return replace(audited, failures=(*audited.failures, why))


def _audited(twin: Twin) -> DatasetsAudit | None:
    """None when the program did not come to its end, or imports no framework with datasets."""
    seen = None if twin.end is None else twin.end.facts.datasets
    return None if seen is None else msgspec.convert(seen, DatasetsAudit)
