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
    if end.failed:
        still = f"no worker did anything for {patience:g} s"
        return Reason("crashed", f"worker {end.number} failed{at} and did not exit, and {still}{where}")
    if end.waited_for is None:
        places = ", ".join(f"worker {number} after step {step}" for number, step in _all_steps(twin))
        still = f"no worker did anything for {patience:g} s{where}" + (f" ({places})" if places else "")
        return Reason("timeout", f"{still}: they may wait for each other (--worker-timeout)")
    ended = f"worker {end.waited_for} had ended"
    ended += f" after step {step}" if (step := _steps(twin, end.waited_for)) else ""
    still = f"worker {end.number} stood still for {patience:g} s{at}, and {ended}{where}"
    return Reason("timeout", f"{still}: it may have waited for it (--worker-timeout)")


def _steps(twin: Path, number: int | None) -> int:
    """That a worker took, as far as it is known."""
    return dict(_all_steps(twin)).get(number, 0)


def _all_steps(twin: Path) -> list[tuple[int | None, int]]:
    """The number of each worker that took any, and how many."""
    known = ((child.about.worker, child.content) for child in children_of(twin))
    return [
        (number, content.steps)
        for number, content in known
        if number is not None and content is not None and content.steps
    ]
