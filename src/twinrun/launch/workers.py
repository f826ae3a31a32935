"""The workers of a cluster, seen from the parent: how one of them ended."""

from __future__ import annotations

from pathlib import Path

from twinrun.comparison.verdict import Reason
from twinrun.launch.children import children_of
from twinrun.launch.twin_process import ending
from twinrun.protocol.facts import WorkerEnd


def worker_failure(end: WorkerEnd, twin: Path, where: str, patience: float) -> Reason:
    """`where` is empty where the same happened in every twin."""
    at = f" after step {step}" if (step := _steps(twin, end.number)) else ""
    if end.code is not None:
        return Reason("crashed", f"worker {end.number} {ending(end.code)}{at}{where}")
    ended = f"worker {end.waited_for} had ended"
    ended += f" after step {step}" if (step := _steps(twin, end.waited_for)) else ""
    still = f"worker {end.number} stood still for {patience:g} s{at}, and {ended}{where}"
    return Reason("timeout", f"{still}: it may have waited for it (--worker-timeout)")


def _steps(twin: Path, number: int | None) -> int:
    """That a worker took, as far as it is known."""
    known = (child for child in children_of(twin) if child.about.worker == number)
    return next((child.content.steps for child in known if child.content is not None), 0)
