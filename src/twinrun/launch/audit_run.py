"""Runs a program for its first steps, in a view of its folder, to audit the datasets that it really builds."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence

import msgspec

from twinrun.launch.program import Program
from twinrun.launch.run import RunOptions, run_once
from twinrun.protocol.facts import DatasetsAudit
from twinrun.terminal import say

STEPS = 3  # by then the pipelines of a training loop are built
LONGEST = 60.0  # seconds; what was built by then is audited
_MARGIN = 10.0  # seconds for a twin whose time is up to report what it knows


def audit_datasets(program: str, args: Sequence[str], *, module: bool = False) -> DatasetsAudit | None:
    """The audit of the datasets of `python program args…`; None when they were not looked at: the program did not come
    to its end, or imports no framework with datasets."""
    with tempfile.TemporaryDirectory(prefix="twinrun-audit-") as folder:
        options = RunOptions(
            Program(program, tuple(args), module),
            STEPS,
            timeout=LONGEST + _MARGIN,
            folder=folder,
            audit_until=time.time() + LONGEST,
            own_view=True,
        )
        result = run_once(options)
    if result.in_place is not None:
        say(f"note: {result.in_place}")
    reported = result.facts.datasets
    if result.reason_kind != "crashed":
        return reported
    # A program that fails has inputs that it never got to.
    last = (result.output_tail or "").splitlines()[-1:]
    why = ": ".join([f"{result.reason} before its third step", *last])
    reported = reported or DatasetsAudit()
    return msgspec.structs.replace(reported, failures=(*reported.failures, why))
